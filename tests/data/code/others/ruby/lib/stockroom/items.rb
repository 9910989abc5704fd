# frozen_string_literal: true

module Stockroom
  class Item
    include Comparable
    include Priced
    include Registrable

    def initialize(sku, cents)
      @sku = sku
      @cents = cents
    end

    def sku
      @sku
    end

    def self.parse(line)
      kind, sku, *rest = line.split
      build(kind.to_sym, sku, *rest.map(&:to_i))
    end

    def unit_price
      @cents
    end

    def <=>(other)
      @sku <=> other.sku
    end

    def describe
      price = Money.format_cents(unit_price)
      "#{sku} at #{price}"
    end
  end

  class Perishable < Item
    def initialize(sku, cents, days)
      super(sku, cents)
      @days = days
    end

    def discount(full, quantity)
      base = super
      stale? ? base + full / 2 : base
    end

    def describe
      "#{super}, #{@days} days left"
    end

    private

    def stale?
      @days < 3
    end
  end

  class Bundle < Item
    def initialize(sku, parts)
      super(sku, 0)
      @parts = parts
    end

    def unit_price
      @parts.sum { |part| part.unit_price }
    end
  end

  Item.register(:plain) do |sku, cents|
    Item.new(sku, cents)
  end
  Item.register(:fresh) do |sku, cents, days|
    Perishable.new(sku, cents, days)
  end
end
