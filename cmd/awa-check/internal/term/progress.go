package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	livePause = 100 * time.Millisecond // between two states of the bar
	linePause = 5 * time.Second        // between two lines where there is no terminal
	barCells  = 24
)

// Progress tells on standard error how far a command is: a bar that redraws itself on a terminal, a line every few
// seconds elsewhere. It may be used by many goroutines; it has none of its own.
type Progress struct {
	w     io.Writer
	live  bool
	width int
	now   func() time.Time

	mu      sync.Mutex
	label   string
	started time.Time
	told    time.Time // when something was last written
	drawn   bool      // the cursor stands behind a bar
}

func newProgress(w io.Writer, live bool, width int, now func() time.Time) *Progress {
	return &Progress{w: w, live: live, width: width, now: now}
}

// Begin opens a stretch of work under a label.
func (p *Progress) Begin(label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label, p.started, p.told = label, p.now(), p.now()
	if p.live {
		p.draw(label)
	} else {
		fmt.Fprintln(p.w, label)
	}
}

// Update says how much is done of how much (0 when nobody knows), and of what. It costs little when it is called often.
func (p *Progress) Update(done, total int64, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := linePause
	if p.live {
		pause = livePause
	}
	now := p.now()
	if now.Sub(p.told) < pause {
		return
	}
	p.told = now
	text := fmt.Sprintf("%s %s  %s %s", p.label, clock(now.Sub(p.started)), share(done, total, p.live), note)
	if p.live {
		p.draw(text)
	} else {
		fmt.Fprintln(p.w, text)
	}
}

// End closes the stretch of work; the bar goes away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// Say writes a line that stays.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *Progress) draw(text string) {
	if over := utf8.RuneCountInString(text) - (p.width - 1); over > 0 {
		runes := []rune(text)
		text = string(runes[:len(runes)-over])
	}
	fmt.Fprint(p.w, "\r\x1b[K"+text)
	p.drawn = true
}

func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func share(done, total int64, bar bool) string {
	if total <= 0 {
		return fmt.Sprint(done)
	}
	done = min(done, total)
	text := fmt.Sprintf("%d/%d (%d %%)", done, total, 100*done/total)
	if bar {
		full := int(barCells * done / total)
		text = "[" + strings.Repeat("=", full) + strings.Repeat(" ", barCells-full) + "] " + text
	}
	return text
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
