package model

import (
	"fmt"
	"slices"
)

// ListJobs asks for every job where it is, as [JobOf] does, and leaves out what isn't asked for: so a list can't know more of
// a job, or less, than a question for it.
func (a ListJobs) apply(s Store) (Result, error) {
	if a.Limit < 1 || a.After < 0 {
		return nil, disabled(a, "a page has a job at least, and comes after one")
	}
	queue := -1
	if a.Queue != "" {
		first, ok := s.Config().Lane(a.Queue, 1)
		if !ok {
			return nil, disabled(a, "no such queue")
		}
		queue = s.Config().QueueOf(first)
	}
	lanes := map[int]int{}
	for _, p := range places(s) {
		lanes[p.job] = p.lane
	}
	var r Listed
	for n := 1; n < s.Vars().NextJob && len(r.Jobs) < a.Limit; n++ {
		job := n
		if a.OldestFirst == 0 {
			job = s.Vars().NextJob - n
		}
		if a.After != 0 && (a.OldestFirst == 1) != (job > a.After) || job == a.After || len(a.Jobs) > 0 && !slices.Contains(a.Jobs, job) {
			continue
		}
		view, err := JobOf{job}.apply(s)
		if err != nil {
			return nil, err
		}
		v := view.(JobView)
		if v.State == JobNotFound || a.State != "" && a.State != string(v.State) || queue >= 0 && s.Config().QueueOf(lanes[job]) != queue {
			continue
		}
		r.Jobs = append(r.Jobs, ListedJob{job, lanes[job], v})
	}
	return r, nil
}

// String is the job with its lane's number and what it would be told of it.
func (j ListedJob) String() string {
	return fmt.Sprintf("%d:%d:%s:%d:%d", j.Job, j.Lane, j.State, j.Lease, j.Attempt)
}
