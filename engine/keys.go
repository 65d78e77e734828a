package engine

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// The kinds of things that the engine takes advisory transaction locks on.
type keyKind string

const (
	keyLane    keyKind = "lane"        // one claim at a time hands out from a lane
	keyBatch   keyKind = "claim batch" // closing attempts of a claim batch
	keyInstall keyKind = "install"
)

// key is the advisory key of a thing: 64 bits of FNV-1a over schema, kind and id, the same on every machine. The key
// space is the database's; hashing the schema and kind into it keeps two engines, and an application's own small
// numbers, out of each other's way. Two things that share a key only wait for each other.
//
// Attempts are keyed by their claim batch, not one by one: the server's table of shared locks has room for some 6,400
// entries at its default settings, and a completion of 512 jobs claimed together takes one entry this way (ADR 0004).
func key(schema string, kind keyKind, id int64) int64 {
	h := fnv.New64a()
	h.Write([]byte(schema))
	h.Write([]byte{0})
	h.Write([]byte(kind))
	h.Write([]byte{0})
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	h.Write(b[:])
	return int64(h.Sum64())
}

// batchKeys returns the keys of claim batches in the order in which they must be taken: sorted, each once. Two closers
// with overlapping batches then wait in line rather than for each other (hazard 21).
func batchKeys(schema string, batches []int64) []int64 {
	keys := make([]int64, len(batches))
	for i, b := range batches {
		keys[i] = key(schema, keyBatch, b)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
