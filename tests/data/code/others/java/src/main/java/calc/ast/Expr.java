package calc.ast;

import java.util.Map;
import java.util.function.DoubleBinaryOperator;

public interface Expr {
    double eval(Map<String, Double> scope);

    int depth();

    default String show() {
        return getClass().getSimpleName() + "/" + depth();
    }

    abstract class Leaf implements Expr {
        private final String label;

        protected Leaf(Object label) {
            this.label = label.toString();
        }

        @Override
        public int depth() {
            return 1;
        }

        @Override
        public String show() {
            return label;
        }
    }

    class Num extends Leaf {
        private final double value;

        public Num(double value) {
            super(value);
            this.value = value;
        }

        @Override
        public double eval(Map<String, Double> scope) {
            return value;
        }
    }

    class Var extends Leaf {
        private final String name;

        public Var(String name) {
            super(name);
            this.name = name;
        }

        @Override
        public double eval(Map<String, Double> scope) {
            Double found = scope.get(name);
            if (found == null) {
                throw new EvalException("unbound " + name);
            }
            return found;
        }

        @Override
        public String show() {
            return "$" + super.show();
        }
    }

    class Binary implements Expr {
        private final Expr left;
        private final Expr right;
        private final DoubleBinaryOperator op;

        public Binary(Expr left, Expr right, DoubleBinaryOperator op) {
            this.left = left;
            this.right = right;
            this.op = op;
        }

        @Override
        public double eval(Map<String, Double> scope) {
            double a = left.eval(scope);
            double b = right.eval(scope);
            return op.applyAsDouble(a, b);
        }

        @Override
        public int depth() {
            int deepest = left.depth();
            deepest = Math.max(deepest, right.depth());
            return deepest + 1;
        }
    }

    class EvalException extends RuntimeException {
        public EvalException(String message) {
            super(message);
        }
    }
}
