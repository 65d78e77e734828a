package model

import "fmt"

// Shards of a queue: each priority has a lane in each. Jobs with the same ordering key come into the same one.

// OrderingKey is the text of an ordering key.
func OrderingKey(n int) string { return fmt.Sprintf("k%d", n) }

// Shard is the shard of a text: FNV-1a in 64 bits over its bytes, its upper half folded into the lower one, modulo the number of
// shards. It is a promise to whoever computes it elsewhere, so that it stands here once more, and not as the engine has it.
func Shard(text string, shards int) int {
	hash := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * 0x100000001b3
	}
	return int((hash ^ hash>>32) % uint64(shards))
}

// laneFor is where a new job goes. ok is false where that isn't for the state to say.
func laneFor(s Store, queue string, priority, ordering int) (lane int, ok bool) {
	first, _ := s.Config().Lane(queue, 1)
	shards := s.Policy(s.Config().QueueOf(first)).shards()
	if shards == 1 {
		return s.Config().Lane(queue, priority)
	}
	if ordering == 0 {
		return 0, false
	}
	return s.Config().ShardLane(queue, priority, Shard(OrderingKey(ordering), shards))
}

// SetShards is a decision about jobs that come from now on; those that are there stay where they are.
func (a SetShards) apply(s Store) (Result, error) {
	lane, ok := s.Config().Lane(a.Queue, 1)
	if !ok || a.Shards < 1 || a.Shards > s.Config().shards() {
		return nil, disabled(a, "no such queue, or number of shards")
	}
	queue := s.Config().QueueOf(lane)
	p := s.Policy(queue)
	p.Shards = a.Shards
	if p.Shards == 1 {
		p.Shards = 0
	}
	s.SetPolicy(queue, p)
	return OK{}, nil
}

// P4: jobs with one ordering key are in one lane of their priority, where nobody overtakes: as long as the number of shards
// stays, each that comes goes where the key says, and no other place. What a queue keeps of a higher number is handed out
// like all else.
func orderingKeepsTheLane(p Step) error {
	queue, ordering := orderingOf(p.Action)
	if ordering == 0 {
		return nil
	}
	first, _ := p.Pre.Config().Lane(queue, 1)
	want := Shard(OrderingKey(ordering), p.Pre.Policy(p.Pre.Config().QueueOf(first)).shards())
	for _, e := range p.Post.Entries() {
		if _, old := entryAt(p.Pre, e.Lane, e.Seq); !old && p.Post.Config().ShardOf(e.Lane) != want {
			return fmt.Errorf("job %d came into shard %d, and its key is of shard %d", e.Job, p.Post.Config().ShardOf(e.Lane), want)
		}
	}
	for _, d := range p.Post.DeferredRows() {
		if _, old := p.Pre.Deferred(d.Job); !old && p.Post.Config().ShardOf(d.Lane) != want {
			return fmt.Errorf("job %d is to come into shard %d, and its key is of shard %d", d.Job, p.Post.Config().ShardOf(d.Lane), want)
		}
	}
	return nil
}

func orderingOf(a Action) (queue string, ordering int) {
	switch a := a.(type) {
	case Enqueue:
		return a.Queue, a.Ordering
	case EnqueueTx:
		return a.Queue, a.Ordering
	}
	return "", 0
}

// ordersAmongShards: a job came whose key had a choice.
func ordersAmongShards(p Step) bool {
	queue, ordering := orderingOf(p.Action)
	first, _ := p.Pre.Config().Lane(queue, 1)
	return ordering != 0 && p.Pre.Policy(p.Pre.Config().QueueOf(first)).shards() > 1
}
