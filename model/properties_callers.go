package model

import "fmt"

// What a completion in a caller's transaction promises: to the caller, that it is done if and only if the transaction
// commits (P1); to all others, that nobody is in two minds about an attempt meanwhile (P3), and that a neighbour of it isn't
// touched (P5).

// completionsFollowTheirTransaction: a commit completes what the transaction has completed, a rollback leaves it open.
func completionsFollowTheirTransaction(p Step) error {
	switch a := p.Action.(type) {
	case Commit:
		for _, c := range p.Pre.ClosedByTx(a.Tx) {
			after, _ := p.Post.Claim(c.ID())
			if after.Outcome != Completed || after.Tx != 0 || ends(p.Post, c.ID()) != 1 {
				return fmt.Errorf("transaction %d committed, but attempt %s, which it completed, is %s", a.Tx, c.ID(), after.Outcome)
			}
		}
	case Rollback:
		for _, c := range p.Pre.ClosedByTx(a.Tx) {
			after, _ := p.Post.Claim(c.ID())
			if after.Outcome != Open || after.Tx != 0 {
				return fmt.Errorf("transaction %d rolled back, but attempt %s, which it completed, is %s", a.Tx, c.ID(), after.Outcome)
			}
		}
	}
	return nil
}

// P3: what a transaction has completed nobody else closes, gives back or completes before that one ends: it would be done
// and tried again, or done twice. To everybody else the attempt runs until then.
func completionIsItsTransactions(p Step) error {
	for _, tx := range p.Pre.Txs() {
		if endsTx(p.Action, tx.ID) {
			continue
		}
		for _, c := range p.Pre.ClosedByTx(tx.ID) {
			if after, ok := p.Post.Claim(c.ID()); !ok || after != c {
				return fmt.Errorf("attempt %s is completed in transaction %d, but %s changed it: it is %s", c.ID(), tx.ID, p.Action, after.Outcome)
			}
		}
	}
	return nil
}

func endsTx(a Action, tx int) bool { return a == Action(Commit{tx}) || a == Action(Rollback{tx}) }

// besideCompletion: a step that changed something beside a transaction which has completed attempts, and not its end.
func besideCompletion(p Step) bool {
	for _, tx := range p.Pre.Txs() {
		if len(p.Pre.ClosedByTx(tx.ID)) > 0 && !endsTx(p.Action, tx.ID) {
			return changed(p)
		}
	}
	return false
}

// kept: the attempt's claim has members that an open transaction has completed. A sweep passes it over.
func kept(s Store, id AttemptID) bool {
	claim, _ := s.Claim(id)
	for _, c := range s.Claims() {
		if c.Batch == claim.Batch && c.Tx != 0 {
			return true
		}
	}
	return false
}

// inReach: a sweep that closed one claim had to close the other before, if it came before it. Kept claims take room among
// their own generation's, so that another generation's are then in reach, and more of theirs aren't.
func inReach(p Step, left, closed ClaimRow) bool {
	return !kept(p.Pre, left.ID()) && (left.Gen == closed.Gen || p.Result.(RescuedCount).Busy == 0)
}
