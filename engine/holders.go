package engine

import (
	"sync"
	"time"
)

// A Holder is a transaction that holds a lock on a slot's tables.
type Holder struct {
	// PID is the server process, 0 for a prepared transaction.
	PID int32
	// Age is how long the transaction has been open, by the server's clock.
	Age time.Duration
	// Transaction is the server's virtual transaction id; it tells two transactions of one process apart.
	Transaction string
}

// holders remembers who held the slot that the last prune of each ring looked at. Safe for concurrent use.
type holders struct {
	mu   sync.Mutex
	last map[string]heldSlot // by ring
}

type heldSlot struct {
	generation   int64
	transactions map[string]bool
}

// seen notes the holders and returns one that was there at the last look at the same generation, too.
func (h *holders) seen(ring string, generation int64, now []Holder) *Holder {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.last[ring]
	next := heldSlot{generation: generation, transactions: map[string]bool{}}
	var again *Holder
	for i := range now {
		next.transactions[now[i].Transaction] = true
		if before.generation == generation && before.transactions[now[i].Transaction] && again == nil {
			again = &now[i]
		}
	}
	if h.last == nil {
		h.last = map[string]heldSlot{}
	}
	h.last[ring] = next
	return again
}
