# frozen_string_literal: true

require_relative 'stockroom/traits'
require_relative 'stockroom/items'
require_relative 'stockroom/inventory'

# Keeps stock of goods and works out what an order costs.
module Stockroom
  VERSION = '0.2.0'

  class << self
    def open(currency: 'EUR')
      yield builder(currency) if block_given?
    end

    private

    def builder(currency)
      Inventory.new(currency)
    end
  end

  def self.banner
    "stockroom #{VERSION}"
  end
end
