# frozen_string_literal: true

module Stockroom
  class OutOfStock < StandardError
    def initialize(sku, missing)
      super("#{missing} of #{sku} missing")
    end
  end

  class Inventory
    LOW = 3

    def initialize(currency)
      @currency = currency
      @shelves = Hash.new(0)
      @items = {}
      @watchers = []
    end

    def add(item, count = 1)
      @items[item.sku] = item
      @shelves[item.sku] += count
      self
    end

    def on_low(watcher = nil, &block)
      @watchers << (watcher || block)
      self
    end

    def find(sku)
      @items.fetch(sku)
    end

    def order(lines)
      lines.each { |sku, count| reserve(sku, count) }
      sum = lines.sum { |sku, count| find(sku).total(count) }
      Money.format_cents(sum, @currency)
    end

    def each_item
      return enum_for(:each_item) unless block_given?

      @items.values.sort.each { |item| yield item }
    end

    def report
      rows = []
      each_item do |item|
        text = item.describe
        rows << row(text, item.sku)
      end
      rows.join("\n")
    end

    private

    def reserve(sku, count)
      left = @shelves[sku] - count
      raise OutOfStock.new(sku, -left) if left.negative?

      @shelves[sku] = left
      warn_low(sku) if low?(left)
    end

    def low?(count)
      count < LOW
    end

    def warn_low(sku)
      @watchers.each { |watcher| watcher.call(sku) }
    end

    def row(text, sku)
      "#{text.ljust(40)} #{@shelves[sku]}"
    end
  end
end
