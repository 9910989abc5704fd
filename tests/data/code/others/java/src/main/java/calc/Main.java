package calc;

import calc.ast.Expr;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

public class Main {
    private static final List<String> INPUTS =
        List.of("1 + 2 * x", "2 ^ 3 ^ 2 / y_1", "(1 - 4) * 2", "7", "x", "x / 0", "z", "(1", "1 2");

    static <T, R> R attempt(T input, Function<T, R> work, Function<String, R> fallback) {
        try {
            return work.apply(input);
        } catch (RuntimeException e) {
            return fallback.apply(e.getMessage());
        }
    }

    private final Map<String, Double> scope;

    Main(Map<String, Double> scope) {
        this.scope = scope;
    }

    String calculate(String line) {
        Expr expr = Parser.parse(line);
        double value = expr.eval(scope);
        String shape = expr.show();
        return String.format("%s = %.2f", shape, value);
    }

    static String failed(String reason) {
        return "error: " + reason;
    }

    public static void main(String[] args) {
        Main calc = new Main(Map.of("x", 5.0, "y_1", 4.0));
        List<String> lines = INPUTS.stream()
            .map(line -> attempt(line, calc::calculate, Main::failed))
            .collect(Collectors.toList());
        lines.forEach(System.out::println);
        Expr parsed = attempt("1 + 1", Parser::parse, reason -> null);
        System.out.println(parsed.depth());
    }
}
