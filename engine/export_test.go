package engine

// What the tests of this package look at from outside.

// LaneKey is the advisory key of a lane of a registered queue.
func (e *Engine) LaneKey(queue string, priority int) int64 {
	q, _ := e.queues.get(queue)
	return key(e.cfg.Schema, keyLane, int64(q.at(priority, 0).id))
}

// KeyOfLane is the advisory key of a lane that the engine need not know of.
func (e *Engine) KeyOfLane(id int32) int64 { return key(e.cfg.Schema, keyLane, int64(id)) }

// BatchKey is the advisory key that closers of the receipt's attempt take.
func (e *Engine) BatchKey(r Receipt) int64 { return key(e.cfg.Schema, keyBatch, r.batch) }

// Batch is the receipt's claim batch.
func (r Receipt) Batch() int64 { return r.batch }

// ID is the receipt's identity.
func (r Receipt) ID() int64 { return r.id() }

// Finished reports whether this process has given up looking into a generation for jobs of the queue.
func (e *Engine) Finished(queue string, generation int64) bool {
	q, _ := e.queues.get(queue)
	lanes := q.lanes
	for _, l := range lanes {
		if !e.hints.get(l.id, e.hints.server).closed[generation] {
			return false
		}
	}
	return len(lanes) > 0
}

// Forged is the receipt with another job.
func Forged(r Receipt, job int64) Receipt {
	r.job = job
	return r
}
