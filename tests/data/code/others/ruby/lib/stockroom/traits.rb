# frozen_string_literal: true

module Stockroom
  # Formatting of amounts kept in cents.
  module Money
    module_function

    def format_cents(cents, currency = 'EUR')
      whole, rest = cents.divmod(100)
      "#{group(whole)}.#{rest.to_s.rjust(2, '0')} #{currency}"
    end

    def group(number)
      return number.to_s if number < 1000

      head, tail = number.divmod(1000)
      "#{group(head)}'#{tail.to_s.rjust(3, '0')}"
    end
  end

  # For things that have a price.
  module Priced
    def total(quantity)
      full = unit_price * quantity
      full - discount(full, quantity)
    end

    def discount(_full, _quantity)
      0
    end
  end

  # Adds a registry of builders to a class.
  module Registrable
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def register(name, &builder)
        builders[name] = builder
        self
      end

      def build(name, *args)
        found = builders.fetch(name) { raise ArgumentError, "no kind #{name}" }
        found.call(*args)
      end

      def builders
        @builders ||= {}
      end
    end
  end
end
