//! Parses conditionals, operators and terms.

use std::sync::Arc;

use wardian_value::{Number, Type, Value};

use super::template::Indentation;
use super::{Newlines, Parser};
use crate::node::{Arm, Kind, Link, Node, Operator};
use crate::syntax::scan::{Token, TokenKind};

/// An operand that can be followed by steps.
pub(super) enum Source {
    /// A bare name.
    Name(Token),
    Node(Node),
}

/// Operators of one precedence whose right operand has not been parsed yet.
struct Pending {
    first: Node,
    rest: Vec<Link>,
    operator: Operator,
}

impl Parser<'_> {
    /// Parses an expression. If there is none, no token is consumed.
    pub(super) fn expression(&mut self) -> Node {
        let place = self.peek().place();
        self.nested(Self::conditional).unwrap_or_else(|| Self::broken(place))
    }

    /// Parses `a ? b : c ? d : e` in a loop, which does not nest the right side more deeply than
    /// the left side.
    fn conditional(&mut self) -> Node {
        let mut arms: Vec<(Node, Node)> = Vec::new();
        let otherwise = loop {
            let before = self.found;
            let condition = self.operation();
            if self.recovered_since(before) {
                break condition;
            }
            if self.peek().kind != TokenKind::Question {
                break condition;
            }
            self.read();
            let before = self.found;
            let if_true = self.expression();
            if self.recovered_since(before) {
                break condition;
            }
            let colon = self.peek();
            if colon.kind != TokenKind::Colon {
                self.problem(
                    "Missing false expression in conditional",
                    "A conditional expression has two results: condition ? first : second. The colon and the \
                     second result are missing.",
                    colon.place(),
                );
                break condition;
            }
            self.read();
            arms.push((condition, if_true));
        };
        let Some((first, _)) = arms.first() else { return otherwise };
        let place = (first.start, otherwise.end);
        let arms = arms
            .into_iter()
            .map(|(condition, if_true)| Arm { condition: Arc::new(condition), if_true: Arc::new(if_true) })
            .collect();
        self.node(Kind::Conditional { arms, otherwise: Arc::new(otherwise) }, place)
    }

    /// Parses operands and the operators between them, by precedence. Pending operators are on a
    /// stack of increasing precedence, so neither their number nor their precedence increases the
    /// recursion depth.
    fn operation(&mut self) -> Node {
        let mut pending: Vec<Pending> = Vec::new();
        loop {
            let before = self.found;
            let mut operand = self.operand();
            if self.recovered_since(before) {
                return self.without_last(pending, operand);
            }
            let next = binary_operator(self.peek().kind);
            let level = next.map(precedence);
            while let Some(waiting) =
                pending.pop_if(|waiting| level.is_none_or(|level| precedence(waiting.operator) > level))
            {
                operand = self.close(waiting, operand);
            }
            let Some(operator) = next else { return operand };
            self.read();
            match pending.last_mut() {
                Some(waiting) if precedence(waiting.operator) == precedence(operator) => {
                    waiting.rest.push(Link { operator: waiting.operator, right: Arc::new(operand) });
                    waiting.operator = operator;
                }
                _ => pending.push(Pending { first: operand, rest: Vec::new(), operator }),
            }
        }
    }

    fn close(&mut self, mut waiting: Pending, right: Node) -> Node {
        let place = (waiting.first.start, right.end);
        waiting.rest.push(Link { operator: waiting.operator, right: Arc::new(right) });
        self.node(Kind::Chain { first: Arc::new(waiting.first), rest: waiting.rest }, place)
    }

    /// Returns the expression that precedes the operator with an invalid right operand.
    fn without_last(&mut self, pending: Vec<Pending>, operand: Node) -> Node {
        let Some(waiting) = pending.into_iter().next() else { return operand };
        let Some(last) = waiting.rest.last() else { return waiting.first };
        let place = (waiting.first.start, last.right.end);
        self.node(Kind::Chain { first: Arc::new(waiting.first), rest: waiting.rest }, place)
    }

    /// Parses a term with its steps and signs.
    fn operand(&mut self) -> Node {
        let mut signs = Vec::new();
        while matches!(self.peek().kind, TokenKind::Minus | TokenKind::Not) {
            signs.push(self.read());
        }
        let term = self.term();
        let mut node = self.steps(term);
        for sign in signs.into_iter().rev() {
            let place = (sign.start, node.end);
            let operand = Arc::new(node);
            let kind = if sign.kind == TokenKind::Minus { Kind::Negate(operand) } else { Kind::Not(operand) };
            node = self.node(kind, place);
            if self.gave_up {
                break;
            }
        }
        node
    }

    fn term(&mut self) -> Source {
        let token = self.peek();
        Source::Node(match token.kind {
            TokenKind::OpenParenthesis => self.parenthesis(),
            TokenKind::Number => {
                self.read();
                let value = self.number(token);
                self.node(Kind::Constant(value), token.place())
            }
            TokenKind::Identifier => return self.name_or_call(),
            TokenKind::OpenQuote => {
                self.read();
                let (kind, end) = self.template(TokenKind::CloseQuote, Indentation::Kept);
                self.node(kind, (token.start, end))
            }
            TokenKind::OpenHeredoc => {
                self.read();
                let is_flush = self.text_of(token).starts_with("<<-");
                let indentation = if is_flush { Indentation::Removed } else { Indentation::Kept };
                let (kind, end) = self.template(TokenKind::CloseHeredoc, indentation);
                self.node(kind, (token.start, end))
            }
            TokenKind::OpenBracket => self.tuple(),
            TokenKind::OpenBrace => self.object(),
            _ => {
                self.refuse_term(token);
                Self::broken(token.place())
            }
        })
    }

    fn refuse_term(&mut self, token: Token) {
        if token.kind == TokenKind::End {
            self.problem_unless_recovering(
                "Missing expression",
                "The text ends where an expression is required.",
                token.place(),
            );
        } else {
            self.problem_unless_recovering(
                "Invalid expression",
                "An expression is required here: a literal value, a reference, a function call, or an \
                 expression in parentheses, brackets or braces.",
                token.place(),
            );
        }
        self.recovering = true;
    }

    fn name_or_call(&mut self) -> Source {
        let name = self.read();
        if matches!(self.peek().kind, TokenKind::OpenParenthesis | TokenKind::DoubleColon) {
            return Source::Node(self.call(name));
        }
        let value = match self.text_of(name) {
            "true" => Value::bool(true),
            "false" => Value::bool(false),
            "null" => Value::null(Type::Dynamic),
            _ => return Source::Name(name),
        };
        Source::Node(self.node(Kind::Constant(value), name.place()))
    }

    fn parenthesis(&mut self) -> Node {
        self.between(Newlines::Skip, |parser| {
            let opening = parser.read();
            let before = parser.found;
            let inner = parser.expression();
            if parser.found > before {
                parser.recover(TokenKind::CloseParenthesis);
                return inner;
            }
            let closing = parser.peek();
            if closing.kind != TokenKind::CloseParenthesis {
                let detail = "A closing parenthesis is required after the expression.";
                parser.problem("Unbalanced parentheses", detail, closing.place());
                parser.recovering = true;
            }
            parser.read();
            parser.node(Kind::Parenthesis(Arc::new(inner)), (opening.start, closing.end))
        })
    }

    pub(super) fn number(&mut self, token: Token) -> Value {
        if let Ok(number) = Number::parse(self.text_of(token)) {
            return Value::number(number);
        }
        self.problem("Invalid number literal", "This is not a number.", token.place());
        Value::unknown(Type::Number)
    }
}

fn binary_operator(kind: TokenKind) -> Option<Operator> {
    Some(match kind {
        TokenKind::Or => Operator::Or,
        TokenKind::And => Operator::And,
        TokenKind::Equal => Operator::Equal,
        TokenKind::NotEqual => Operator::NotEqual,
        TokenKind::Less => Operator::Less,
        TokenKind::LessOrEqual => Operator::LessOrEqual,
        TokenKind::Greater => Operator::Greater,
        TokenKind::GreaterOrEqual => Operator::GreaterOrEqual,
        TokenKind::Plus => Operator::Add,
        TokenKind::Minus => Operator::Subtract,
        TokenKind::Star => Operator::Multiply,
        TokenKind::Slash => Operator::Divide,
        TokenKind::Percent => Operator::Remainder,
        _ => return None,
    })
}

/// Returns the precedence of an operator: a higher number for operators that bind more tightly.
fn precedence(operator: Operator) -> u8 {
    match operator {
        Operator::Or => 0,
        Operator::And => 1,
        Operator::Equal | Operator::NotEqual => 2,
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => 3,
        Operator::Add | Operator::Subtract => 4,
        Operator::Multiply | Operator::Divide | Operator::Remainder => 5,
    }
}
