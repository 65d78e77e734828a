package fuzz

import "runtime"

// A verdict stands for a *testing.T where rapid runs outside a test: it keeps whether the check failed. What rapid would
// log is told better by the finding itself.
type verdict struct{ failed bool }

func (v *verdict) Helper()               {}
func (v *verdict) Name() string          { return "lockstep" }
func (v *verdict) Logf(string, ...any)   {}
func (v *verdict) Log(...any)            {}
func (v *verdict) Skipf(string, ...any)  { v.SkipNow() }
func (v *verdict) Skip(...any)           { v.SkipNow() }
func (v *verdict) SkipNow()              { runtime.Goexit() }
func (v *verdict) Errorf(string, ...any) { v.failed = true }
func (v *verdict) Error(...any)          { v.failed = true }
func (v *verdict) Fatalf(string, ...any) { v.FailNow() }
func (v *verdict) Fatal(...any)          { v.FailNow() }
func (v *verdict) Fail()                 { v.failed = true }
func (v *verdict) Failed() bool          { return v.failed }

// FailNow ends the goroutine that the check runs in.
func (v *verdict) FailNow() {
	v.failed = true
	runtime.Goexit()
}
