package book

import "sort"

type Trade struct {
	Maker, Taker string
	Price, Qty   int
}

type Listener func(Trade)

type Book struct {
	sides     map[Side][]*LimitOrder
	listeners []Listener
}

func New(listeners ...Listener) *Book {
	b := &Book{sides: make(map[Side][]*LimitOrder)}
	for _, l := range listeners {
		b.Subscribe(l)
	}
	return b
}

func (b *Book) Subscribe(l Listener) *Book {
	b.listeners = append(b.listeners, l)
	return b
}

func (b *Book) AddLimit(o *LimitOrder) int {
	filled := b.match(o, o.Side)
	if !o.Done() {
		b.rest(o)
	}
	return filled
}

func (b *Book) AddMarket(o *MarketOrder) int {
	return b.match(o, o.Side)
}

func (b *Book) match(taker Order, side Side) int {
	other := side.Opposite()
	queue := b.sides[other]
	want := taker.core()
	filled := 0
	for len(queue) > 0 && !want.Done() {
		maker := queue[0]
		if !taker.Accepts(maker.Price) {
			break
		}
		n := maker.Take(want.Qty)
		want.Take(n)
		filled += n
		label := taker.Label()
		resting := maker.Label()
		b.publish(Trade{resting, label, maker.Price, n})
		if maker.base.Done() {
			queue = queue[1:]
		}
	}
	b.sides[other] = queue
	return filled
}

func (b *Book) rest(o *LimitOrder) {
	queue := append(b.sides[o.Side], o)
	before := comparators[o.Side]
	sort.SliceStable(queue, func(i, j int) bool {
		return before(queue[i], queue[j])
	})
	b.sides[o.Side] = queue
}

func (b *Book) publish(t Trade) {
	for _, listen := range b.listeners {
		listen(t)
	}
}

func (b *Book) Depth(side Side) int {
	return Sum(b.sides[side], func(o *LimitOrder) int { return o.Qty })
}

var comparators = map[Side]func(x, y *LimitOrder) bool{
	Buy:  higher,
	Sell: lower,
}

func higher(x, y *LimitOrder) bool { return x.Price > y.Price }

func lower(x, y *LimitOrder) bool { return higher(y, x) }
