package layers

import (
	"encoding/xml"
	"io"
	"strings"
	"time"

	"github.com/awa-engine/awa/cmd/awa-check/internal/report"
)

// The JUnit form that CI systems read: a layer is a test case of one suite. A layer that couldn't run is an "error",
// one whose property failed a "failure".
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     float64     `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    float64     `xml:"time,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Output  string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the items of a report.
func WriteJUnit(w io.Writer, items []Item, took report.Seconds) error {
	suite := junitSuite{Name: "awa-check verify", Tests: len(items), Time: time.Duration(took).Seconds()}
	for _, i := range items {
		c := junitCase{
			Class: i.Layer, Name: i.Name, Time: time.Duration(i.Seconds).Seconds(),
			Output: strings.Join(append([]string{i.What, i.Did.String()}, i.NotRun...), "\n"),
		}
		switch {
		case i.OK:
		case i.Ran:
			suite.Failures++
			c.Failure = fault(strings.Join(i.Failed, "\n\n"))
		default:
			suite.Errors++
			c.Error = fault(i.Why)
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(suite)
}

func fault(text string) *junitFault {
	first, _, _ := strings.Cut(text, "\n")
	return &junitFault{Message: first, Text: text}
}
