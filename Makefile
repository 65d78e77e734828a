# The project's commands. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
TOOL = $(GO) tool -modfile=tools/go.mod

# Where goroutines share memory, and so where the race detector has something to find.
RACE = $(patsubst %,./%/...,$(wildcard chaos cmd engine linearizability model/explore pgtest soak))
# Passed to `go test`, as in: make test TESTFLAGS='-run Claim'
TESTFLAGS ?=
PROFILE ?= quick
# The versions that are supported, each downloaded once by npm where this machine doesn't have it.
MAJORS ?= 15 16 17 18
# Passed to `awa-check verify`, as in: make verify VERIFYFLAGS='--html report.html'
VERIFYFLAGS ?=

.PHONY: help
help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: needs ## Run all tests, then those with goroutines again under the race detector
	@{ rc=0; \
	   $(GO) test -json -timeout 30m $(TESTFLAGS) ./... || rc=1; \
	   $(GO) test -C tools -json $(TESTFLAGS) ./... || rc=1; \
	   if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null; then \
	       $(GO) test -json -race -short $(TESTFLAGS) $(RACE) || rc=1; \
	   else echo 'race detector: NOT RUN, it needs a C compiler (gcc or clang)'; fi; \
	   exit $$rc; \
	} | $(GO) run -C tools ./testsum

.PHONY: test-postgres-matrix
test-postgres-matrix: ## Run the engine's tests on PostgreSQL 15, 16, 17 and 18 (MAJORS="15 18" chooses)
	@failed=; for major in $(MAJORS); do \
	   echo "=== PostgreSQL $$major"; \
	   AWA_DATABASE_URL= AWA_POSTGRES_MAJOR=$$major $(GO) test -json -count=1 -timeout 30m $(TESTFLAGS) ./engine/... ./pgtest \
	       | $(GO) run -C tools ./testsum || failed="$$failed $$major"; \
	done; [ -z "$$failed" ] || { echo "failed on PostgreSQL$$failed"; exit 1; }

.PHONY: verify
verify: needs ## Run the verification layers (PROFILE=quick, standard or full)
	@$(GO) run ./cmd/awa-check verify --profile $(PROFILE) $(VERIFYFLAGS)

.PHONY: lint
lint: lint-format lint-vet lint-static lint-tree check-generated ## Check format, suspicious code, the tree's rules, generated files

.PHONY: lint-format lint-vet lint-static lint-tree
lint-format:
	@out=$$($(TOOL) gofumpt -l .); [ -z "$$out" ] || { echo "not formatted (run: make format):"; echo "$$out"; exit 1; }
lint-vet:
	@$(GO) vet ./... && $(GO) vet -C tools ./...
lint-static:
	@$(TOOL) staticcheck ./...
lint-tree:
	@$(GO) test -count=1 .

.PHONY: format
format: ## Format the Go files
	@$(TOOL) gofumpt -w .

.PHONY: vulns
vulns: ## Look for known vulnerabilities in what we depend on (needs the network)
	@rc=0; $(TOOL) govulncheck ./... || rc=$$?; \
	case $$rc in \
	0) ;; \
	3) exit 1 ;; \
	*) echo 'govulncheck: NOT RUN, its data could not be had (GOVULNDB names another place for it)' ;; \
	esac

.PHONY: bench
bench: needs ## Run the engine's storage benchmarks
	@$(GO) test -run '^$$' -bench . $(TESTFLAGS) ./engine/...

.PHONY: generate
generate: ## Write the generated files anew
	@$(GO) generate ./...

# What git sees of the work tree must be the same before and after.
TREE = { git status --porcelain; git diff; } | cksum
.PHONY: check-generated
check-generated: ## Check that the generated files are up to date
	@before=$$($(TREE)); $(MAKE) generate; \
	[ "$$before" = "$$($(TREE))" ] || { echo 'generated files were out of date: commit what make generate wrote'; exit 1; }

.PHONY: clean-tree
clean-tree: ## Check that nothing in the work tree differs from the last commit
	@out=$$(git status --porcelain); [ -z "$$out" ] || { echo 'the work tree is not clean:'; echo "$$out"; exit 1; }

.PHONY: needs
needs: ## Install what the tests need, or say what to install
	@tools/need-postgres
	@[ ! -f tools/tla-checker/package-lock.json ] || tools/need-tla-checker

.PHONY: tools
tools: needs ## Build the pinned development tools, so that later commands are quick
	@$(TOOL) gofumpt -version && $(TOOL) staticcheck -version && $(TOOL) govulncheck -version >/dev/null
	@$(GO) run ./cmd/awa-check doctor
