package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

func clientName(client int) string { return fmt.Sprintf("client %d", client) }

// picture writes porcupine's picture of one job's calls, with maintenance and the end of the run's clock above them.
func (j *judging) picture(l *life, file string) error {
	m := lifeModel()
	ops := make([]porcupine.Operation, len(l.ops))
	for i, o := range l.ops {
		ops[i] = o
		if o.Return >= never { // a bar that ends a little after everything else
			ops[i].Return = l.to + (l.to-l.from)/20 + 1
		}
	}
	_, info := porcupine.CheckOperationsVerbose(m, ops, lifeLimit)
	info.AddAnnotations(j.annotations(l))
	m.DescribeOperationMetadata = func(about any) string { return about.(*call).String() }
	return porcupine.VisualizePath(m, info, file)
}

// annotations are the calls of maintenance during the job's life that did something.
func (j *judging) annotations(l *life) []porcupine.Annotation {
	colours := map[op]string{
		opRotateQueue: "#cfe8cf", opRotateClaims: "#dff0df", opPruneQueue: "#f3d9b1", opPruneClaims: "#f8e9cf", opRescue: "#f3c6c6", opPromote: "#cfdcf3",
	}
	var all []porcupine.Annotation
	for _, c := range j.maintenance {
		if c.Return < l.from || c.Call > l.to || !c.moved() {
			continue
		}
		text := c.Status
		switch c.Op {
		case opRescue:
			text = fmt.Sprintf("%d requeued, %d failed", c.Requeued, c.Failed)
		case opPromote:
			text = fmt.Sprintf("%d promoted", c.Promoted)
		}
		all = append(all, porcupine.Annotation{
			Tag: string(c.Op), Start: c.Call, End: min(c.Return, l.to), Description: string(c.Op) + ": " + text,
			Details: c.String() + " " + c.Error, BackgroundColor: colours[c.Op],
		})
	}
	return all
}

// moved tells whether a call of maintenance changed anything, or may have.
func (c *call) moved() bool {
	return c.Outcome != outcomeOK || c.Requeued+c.Failed+c.Promoted > 0 || c.Status == "rotated" || c.Status == "pruned"
}
