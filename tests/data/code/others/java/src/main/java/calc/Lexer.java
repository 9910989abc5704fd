package calc;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;

final class Lexer {
    enum Kind { NUMBER, NAME, SYMBOL, END }

    static final class Token {
        final Kind kind;
        final String text;
        final int at;

        Token(Kind kind, String text, int at) {
            this.kind = kind;
            this.text = text;
            this.at = at;
        }

        boolean is(String symbol) {
            return kind == Kind.SYMBOL && text.equals(symbol);
        }

        static Token end(int at) {
            return new Token(Kind.END, "", at);
        }
    }

    private final String source;
    private int pos;

    Lexer(String source) {
        this.source = source;
    }

    List<Token> tokens() {
        List<Token> out = new ArrayList<>();
        while (skipBlanks()) {
            out.add(next());
        }
        out.add(Token.end(pos));
        return out;
    }

    private boolean skipBlanks() {
        span(Character::isWhitespace);
        return pos < source.length();
    }

    private Token next() {
        int start = pos;
        char c = source.charAt(pos);
        if (Character.isDigit(c)) {
            String digits = span(ch -> Character.isDigit(ch) || ch == '.');
            return new Token(Kind.NUMBER, digits, start);
        }
        if (Character.isLetter(c)) {
            String name = span(Lexer::isNamePart);
            return new Token(Kind.NAME, name, start);
        }
        pos++;
        return new Token(Kind.SYMBOL, String.valueOf(c), start);
    }

    private String span(IntPredicate accept) {
        int start = pos;
        while (pos < source.length() && accept.test(source.charAt(pos))) {
            pos++;
        }
        return source.substring(start, pos);
    }

    private static boolean isNamePart(int c) {
        return Character.isLetterOrDigit(c) || c == '_';
    }
}
