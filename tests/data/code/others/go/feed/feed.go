package feed

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	bk "example.com/exchange/book"
)

type Tape struct {
	Trades []bk.Trade
}

func (t *Tape) Record(trade bk.Trade) {
	t.Trades = append(t.Trades, trade)
}

func (t *Tape) Turnover() int {
	return bk.Sum(t.Trades, bk.Trade.Value)
}

type Handler func(b *bk.Book, id int, fields []string) (int, error)

var handlers = map[string]Handler{
	"limit":  handleLimit,
	"market": handleMarket,
}

func handleLimit(b *bk.Book, id int, fields []string) (int, error) {
	side, nums, err := parse(fields, 2)
	if err != nil {
		return 0, err
	}
	order, err := bk.NewLimit(id, side, nums[0], nums[1])
	if err != nil {
		return 0, err
	}
	return b.AddLimit(order), nil
}

func handleMarket(b *bk.Book, id int, fields []string) (int, error) {
	side, nums, err := parse(fields, 1)
	if err != nil {
		return 0, err
	}
	order, err := bk.NewMarket(id, side, nums[0])
	if err != nil {
		return 0, err
	}
	return b.AddMarket(order), nil
}

func parse(fields []string, want int) (bk.Side, []int, error) {
	if len(fields) != want+1 {
		return 0, nil, fmt.Errorf("want %d fields, got %d", want+1, len(fields))
	}
	side, err := bk.ParseSide(fields[0])
	if err != nil {
		return 0, nil, err
	}
	var nums []int
	for _, f := range fields[1:] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, nil, err
		}
		nums = append(nums, n)
	}
	return side, nums, nil
}

// Run feeds each line of the script to the book.
func Run(b *bk.Book, script string, log io.Writer) {
	fail := func(id int, err error) {
		fmt.Fprintf(log, "%d: %v\n", id, err)
	}
	for id, line := range strings.Split(script, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		handle, ok := handlers[fields[0]]
		if !ok {
			fail(id, fmt.Errorf("no handler for %q", fields[0]))
			continue
		}
		if _, err := handle(b, id, fields[1:]); err != nil {
			fail(id, err)
		}
	}
}
