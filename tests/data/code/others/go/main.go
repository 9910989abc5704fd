package main

import (
	"fmt"
	"os"

	"example.com/exchange/book"
	"example.com/exchange/feed"
)

const script = `limit sell 101 5
limit sell 100 3
limit buy 99 4
limit buy 98 1
limit buy 100 2
market buy 4
market sell 0
cancel 3`

type totals struct{ qty int }

func (t *totals) Add(trade book.Trade) { t.qty += trade.Qty }

func main() {
	tape := &feed.Tape{}
	sum := totals{}
	b := book.New(tape.Record).Subscribe(sum.Add)
	defer report(b, tape)
	feed.Run(b, script, os.Stderr)
	fmt.Println("traded", sum.qty)
}

func report(b *book.Book, tape *feed.Tape) {
	for _, side := range []book.Side{book.Buy, book.Sell} {
		fmt.Println(side.String(), b.Depth(side))
	}
	fmt.Println("turnover", tape.Turnover())
}
