#!/usr/bin/env ruby
# frozen_string_literal: true

require_relative '../lib/stockroom'

STOCK = <<~LINES
  plain nail 5
  plain anvil 123456789
  fresh milk 120 2
  fresh cheese 900 20
LINES

class Clerk
  def note(sku)
    remember("reorder #{sku}")
  end

  def notes
    @notes ||= []
  end

  def summary
    self.notes.uniq.join(', ')
  end

  private

  def remember(text)
    notes << text
  end
end

def fill(inventory)
  STOCK.each_line do |line|
    item = Stockroom::Item.parse(line)
    inventory.add(item, 4)
  end
  nail = inventory.find('nail')
  kit = Stockroom::Bundle.new('kit', [nail, nail])
  big = Stockroom::Bundle.new('big-kit', [kit, nail])
  inventory
    .add(kit, 2)
    .add(big)
end

def try_order(inventory, lines)
  puts inventory.order(lines)
rescue Stockroom::OutOfStock => e
  puts "refused: #{e.message}"
end

clerk = Clerk.new
puts Stockroom.banner

Stockroom.open(currency: 'CHF') do |inventory|
  fill(inventory)
  inventory.on_low(clerk.method(:note))
  inventory.on_low { |sku| puts "low: #{sku}" }
  try_order(inventory, 'nail' => 1, 'milk' => 2)
  try_order(inventory, { 'cheese' => 3, 'kit' => 1 })
  try_order(inventory, { 'anvil' => 9 })
  puts inventory.report
end
puts clerk.summary
