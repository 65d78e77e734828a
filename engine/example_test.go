package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awa-engine/awa/engine"
)

// From an empty database to the first job that is done.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseWithout("example_first")) // any PostgreSQL from version 15 on
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	cfg := engine.Config{Schema: "example_first"}
	if err := engine.Migrate(ctx, pool, cfg); err != nil { // may be called at each start
		log.Fatal(err)
	}
	e, err := engine.Open(ctx, pool, cfg)
	if err != nil {
		log.Fatal(err)
	}

	id, err := e.Enqueue(ctx, engine.JobParams{Queue: "mail", Kind: "welcome", Args: []byte(`{"to": "ada@example.org"}`)})
	if err != nil {
		log.Fatal(err)
	}
	attempts, err := e.Claim(ctx, "mail", 10)
	if err != nil {
		log.Fatal(err)
	}
	var done []engine.Receipt
	for _, a := range attempts {
		fmt.Printf("%s %s, attempt %d of %d\n", a.Kind, a.Args, a.Attempt, a.Max)
		done = append(done, a.Receipt)
	}
	results, err := e.Complete(ctx, done)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		if engine.Stale(r.Err) {
			fmt.Println("somebody else has this job now")
		}
	}
	job, err := e.Job(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the job is", job.State)
	// Output:
	// welcome {"to": "ada@example.org"}, attempt 1 of 25
	// the job is completed
}

// A job that exists if and only if the order does.
func ExampleEngine_EnqueueTx() {
	ctx := context.Background()
	pool, e := exampleShop(ctx)
	defer pool.Close()

	order := func(number int, paid bool) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO example_shop.orders VALUES ($1)`, number); err != nil {
				return err
			}
			ship := engine.JobParams{Queue: "warehouse", Kind: "ship", Args: fmt.Appendf(nil, `{"order": %d}`, number)}
			if _, err := e.EnqueueTx(ctx, tx, ship); err != nil {
				return err
			}
			if !paid {
				return fmt.Errorf("order %d isn't paid", number) // rolls back, and the job with it
			}
			return nil
		})
	}
	fmt.Println(order(1, false))
	fmt.Println(order(2, true))

	attempts, err := e.Claim(ctx, "warehouse", 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range attempts {
		fmt.Printf("%s %s\n", a.Kind, a.Args)
	}
	// Output:
	// order 1 isn't paid
	// <nil>
	// ship {"order": 2}
}

// exampleShop is an installation beside a table of orders, in one database.
func exampleShop(ctx context.Context) (*pgxpool.Pool, *engine.Engine) {
	pool, err := pgxpool.New(ctx, databaseWithout("example_shop"))
	if err != nil {
		log.Fatal(err)
	}
	cfg := engine.Config{Schema: "example_shop"}
	if err := engine.Migrate(ctx, pool, cfg); err != nil {
		log.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `CREATE TABLE example_shop.orders (number integer PRIMARY KEY)`); err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(ctx, pool, cfg)
	if err != nil {
		log.Fatal(err)
	}
	return pool, e
}

// databaseWithout is the address of a database that doesn't have the schema, also when the examples have run on it before.
func databaseWithout(schema string) string {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := conn.Exec(ctx, `DROP SCHEMA IF EXISTS `+schema+` CASCADE`); err != nil {
		log.Fatal(err)
	}
	if err := conn.Close(ctx); err != nil {
		log.Fatal(err)
	}
	return server.DSN()
}
