package book

import (
	"errors"
	"fmt"
	"strings"
)

// Side tells buyers from sellers.
type Side int

const (
	Buy Side = iota
	Sell
)

var ErrQuantity = errors.New("quantity must be positive")

func (s Side) String() string {
	if s == Buy {
		return "buy"
	}
	return "sell"
}

func (s Side) Opposite() Side {
	return 1 - s
}

func ParseSide(text string) (Side, error) {
	switch strings.ToLower(text) {
	case Buy.String():
		return Buy, nil
	case Sell.String():
		return Sell, nil
	}
	return 0, fmt.Errorf("unknown side %q", text)
}

type base struct {
	ID  int
	Qty int
}

func (b *base) Take(n int) int {
	n = smaller(n, b.Qty)
	b.Qty -= n
	return n
}

func (b *base) Done() bool {
	return b.Qty == 0
}

// Order is anything that can be put on the book.
type Order interface {
	Accepts(price int) bool
	Label() string
	core() *base
}

type LimitOrder struct {
	base
	Side  Side
	Price int
}

type MarketOrder struct {
	base
	Side Side
}

func NewLimit(id int, side Side, price, qty int) (*LimitOrder, error) {
	if err := validate(qty); err != nil {
		return nil, err
	}
	return &LimitOrder{base: base{ID: id, Qty: qty}, Side: side, Price: price}, nil
}

func NewMarket(id int, side Side, qty int) (*MarketOrder, error) {
	if err := validate(qty); err != nil {
		return nil, err
	}
	return &MarketOrder{base{id, qty}, side}, nil
}

func (o *LimitOrder) Accepts(price int) bool {
	if o.Side == Buy {
		return price <= o.Price
	}
	return price >= o.Price
}

func (o *LimitOrder) Label() string {
	return fmt.Sprintf("limit %s #%d @%d", o.Side, o.ID, o.Price)
}

func (o *LimitOrder) core() *base { return &o.base }

func (o *MarketOrder) Accepts(int) bool { return true }

func (o *MarketOrder) Label() string {
	return fmt.Sprintf("market %s #%d", o.Side, o.ID)
}

func (o *MarketOrder) core() *base { return &o.base }

func validate(qty int) error {
	if qty <= 0 {
		return ErrQuantity
	}
	return nil
}
