package calc;

import static calc.Operators.find;

import calc.Lexer.Token;
import calc.ast.Expr;
import java.util.List;
import java.util.Optional;

class Parser {
    private final List<Token> tokens;
    private int index;

    Parser(List<Token> tokens) {
        this.tokens = tokens;
    }

    Parser(String source) {
        this(new Lexer(source).tokens());
    }

    static Expr parse(String source) {
        Parser parser = new Parser(source);
        Expr expr = parser.expression(0);
        if (parser.peek().kind != Lexer.Kind.END) {
            throw parser.error("trailing input");
        }
        return expr;
    }

    private Expr expression(int floor) {
        Expr left = primary();
        while (true) {
            String symbol = peek().text;
            Optional<Operators.Operator> op = find(symbol);
            if (op.isEmpty() || !op.get().bindsTighterThan(floor)) {
                return left;
            }
            Operators.Operator operator = op.get();
            advance();
            Expr right = expression(operator.nextFloor());
            left = operator.build(left, right);
        }
    }

    private Expr primary() {
        Token token = advance();
        switch (token.kind) {
            case NUMBER:
                return new Expr.Num(Double.parseDouble(token.text));
            case NAME:
                return new Expr.Var(token.text);
            default:
                if (!token.is("(")) {
                    throw error("unexpected " + token.text);
                }
                Expr inner = expression(0);
                if (!advance().is(")")) {
                    throw error("missing )");
                }
                return inner;
        }
    }

    private Token peek() {
        return tokens.get(index);
    }

    private Token advance() {
        Token token = this.peek();
        index = Math.min(index + 1, tokens.size() - 1);
        return token;
    }

    private IllegalArgumentException error(String message) {
        int at = peek().at;
        return new IllegalArgumentException(message + " at " + at);
    }
}
