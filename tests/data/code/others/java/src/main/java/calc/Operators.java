package calc;

import calc.ast.Expr;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.DoubleBinaryOperator;

class Operators {
    private static final Map<String, Operator> TABLE = new HashMap<>();

    static class Operator {
        final int level;
        final DoubleBinaryOperator apply;

        Operator(int level, DoubleBinaryOperator apply) {
            this.level = level;
            this.apply = apply;
        }

        Expr build(Expr left, Expr right) {
            return new Expr.Binary(left, right, apply);
        }

        boolean bindsTighterThan(int other) {
            return level > other;
        }

        int nextFloor() {
            return level;
        }
    }

    static class RightOperator extends Operator {
        RightOperator(int level, DoubleBinaryOperator apply) {
            super(level, apply);
        }

        @Override
        int nextFloor() {
            return super.nextFloor() - 1;
        }
    }

    static {
        TABLE.put("+", new Operator(1, Double::sum));
        TABLE.put("-", new Operator(1, (a, b) -> a - b));
        TABLE.put("*", new Operator(2, (a, b) -> a * b));
        TABLE.put("/", new Operator(2, Operators::divide));
        TABLE.put("^", new RightOperator(3, Operators::power));
    }

    static Optional<Operator> find(String symbol) {
        return Optional.ofNullable(TABLE.get(symbol));
    }

    private static double divide(double a, double b) {
        if (b == 0) {
            throw new Expr.EvalException("division by zero");
        }
        return a / b;
    }

    private static double power(double a, double n) {
        return n < 1 ? 1 : a * power(a, n - 1);
    }
}
