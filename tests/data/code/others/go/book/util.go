package book

type number interface {
	~int | ~float64
}

func smaller[N number](a, b N) N {
	if a < b {
		return a
	}
	return b
}

// Sum adds up the values that get draws from the items.
func Sum[T any, N number](items []T, get func(T) N) N {
	if len(items) == 0 {
		return 0
	}
	rest := Sum(items[1:], get)
	return rest + get(items[0])
}

func (t Trade) Value() int {
	return t.Price * t.Qty
}
