//! Calc: the value of an arithmetic expression, with Lua's operators and the functions of its
//! `math`.
//!
//! Law: nothing but numbers can be said, and no expression nests or grows without bound.

use std::time::{Duration, Instant};

use jm_tools::operation::{Execution, Operation};
use jm_tools::{Foreseen, PathUse, Scope};
use jm_types::ToolError;

const LONGEST: usize = 10_000;
const DEEPEST: usize = 100;
/// The interval in which a waiting calculation looks for a cancellation.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Calc {
    pub(super) expression: String,
    /// The time for which the answer is held back.
    pub(super) delay: Duration,
}

impl Calc {
    fn run(&self, scope: &Scope) -> Result<String, ToolError> {
        let value = evaluate(&self.expression).map_err(|why| {
            ToolError::bad_args(format!("Invalid expression: {why}"))
                .hint("numbers, + - * / // % ^, parentheses, pi, and functions such as sqrt(16), min(1, 2) or math.floor(2.5)")
        })?;
        let until = (Instant::now() + self.delay).min(scope.deadline);
        while Instant::now() < until {
            scope.cancel.checkpoint()?;
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(shown(value))
    }
}

impl Operation for Calc {
    type Outcome = String;

    fn paths(&self) -> Vec<PathUse> {
        Vec::new()
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<String, ToolError> {
        self.run(execution.scope)
    }
}

/// A number as C's `%.14g` writes it.
fn shown(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:.13e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..14).contains(&exponent) {
        let places = usize::try_from(13 - exponent).unwrap_or(0);
        return trimmed(&format!("{value:.places$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn evaluate(expression: &str) -> Result<f64, String> {
    if expression.trim().is_empty() {
        return Err("there is none".to_owned());
    }
    if expression.len() > LONGEST {
        return Err(format!("longer than {LONGEST} characters"));
    }
    let mut reader = Reader { rest: expression, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(found) => Err(format!("unexpected `{found}` before `{}`", reader.near())),
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn near(&self) -> String {
        self.rest.chars().skip(1).take(20).collect()
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.peek();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            match self.peek() {
                Some('+') if self.eat("+") => value += self.product()?,
                Some('-') if self.eat("-") => value -= self.product()?,
                _ => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.negation()?;
        loop {
            if self.eat("//") {
                value = (value / self.negation()?).floor();
            } else if self.eat("/") {
                value /= self.negation()?;
            } else if self.eat("*") {
                value *= self.negation()?;
            } else if self.eat("%") {
                let by = self.negation()?;
                value -= (value / by).floor() * by;
            } else {
                return Ok(value);
            }
        }
    }

    fn negation(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        let value = if self.eat("-") { -self.negation()? } else { self.power()? };
        self.depth -= 1;
        Ok(value)
    }

    /// Binds tighter than a minus before it, and from the right.
    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.eat("^") { Ok(base.powf(self.negation()?)) } else { Ok(base) }
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                self.eat("(");
                let value = self.sum()?;
                self.close()?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.named(),
            Some(found) => Err(format!("unexpected `{found}` before `{}`", self.near())),
            None => Err("it ends too soon".to_owned()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        if self.eat(")") { Ok(()) } else { Err("a parenthesis is not closed".to_owned()) }
    }

    fn number(&mut self) -> Result<f64, String> {
        if let Some(digits) = self.rest.strip_prefix("0x").or(self.rest.strip_prefix("0X")) {
            let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
            let value = u64::from_str_radix(&digits[..end], 16);
            self.rest = &digits[end..];
            return value.map(|value| value as f64).map_err(|error| error.to_string());
        }
        let bytes = self.rest.as_bytes();
        let is_exponent_sign = |at: usize| at > 0 && matches!(bytes[at - 1], b'e' | b'E');
        let belongs = |at: usize| match bytes[at] {
            b'0'..=b'9' | b'.' | b'e' | b'E' => true,
            b'+' | b'-' => is_exponent_sign(at),
            _ => false,
        };
        let end = (0..bytes.len()).find(|at| !belongs(*at)).unwrap_or(bytes.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().map_err(|_| format!("`{digits}` is not a number"))
    }

    fn named(&mut self) -> Result<f64, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let name = name.strip_prefix("math.").unwrap_or(name);
        match name {
            "pi" => return Ok(std::f64::consts::PI),
            "huge" => return Ok(f64::INFINITY),
            _ => {}
        }
        if !self.eat("(") {
            return Err(format!("`{name}` is neither a number nor a function"));
        }
        let mut arguments = Vec::new();
        while !self.eat(")") {
            arguments.push(self.sum()?);
            if !self.eat(",") {
                self.close()?;
                break;
            }
        }
        apply(name, &arguments)
    }
}

fn apply(name: &str, arguments: &[f64]) -> Result<f64, String> {
    Ok(match (name, arguments) {
        ("sqrt", [x]) => x.sqrt(),
        ("abs", [x]) => x.abs(),
        ("floor", [x]) => x.floor(),
        ("ceil", [x]) => x.ceil(),
        ("exp", [x]) => x.exp(),
        ("log", [x]) => x.ln(),
        ("log", [x, base]) => x.log(*base),
        ("log10", [x]) => x.log10(),
        ("log2", [x]) => x.log2(),
        ("sin", [x]) => x.sin(),
        ("cos", [x]) => x.cos(),
        ("tan", [x]) => x.tan(),
        ("asin", [x]) => x.asin(),
        ("acos", [x]) => x.acos(),
        ("atan", [x]) => x.atan(),
        ("atan" | "atan2", [y, x]) => y.atan2(*x),
        ("sinh", [x]) => x.sinh(),
        ("cosh", [x]) => x.cosh(),
        ("tanh", [x]) => x.tanh(),
        ("deg", [x]) => x.to_degrees(),
        ("rad", [x]) => x.to_radians(),
        ("pow", [x, y]) => x.powf(*y),
        ("fmod", [x, y]) => x % y,
        ("round", [x]) => x.round(),
        ("min", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::min),
        ("max", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::max),
        _ => return Err(format!("no function `{name}` of {} numbers", arguments.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_values_that_lua_gives_them() {
        let cases = [
            ("2 + 2", "4"),
            ("15 * 7", "105"),
            ("sqrt(16)", "4"),
            ("math.sqrt(2)", "1.4142135623731"),
            ("2^10", "1024"),
            ("2^3^2", "512"),
            ("-2^2", "-4"),
            ("2^-1", "0.5"),
            ("10 / 4", "2.5"),
            ("7 // 2", "3"),
            ("-7 // 2", "-4"),
            ("-7 % 3", "2"),
            ("1 / 0", "inf"),
            ("-1 / 0", "-inf"),
            ("0 / 0", "nan"),
            ("0.1 + 0.2", "0.3"),
            ("1e15", "1e+15"),
            ("100000000000000", "1e+14"),
            ("99999999999999", "99999999999999"),
            ("1/3", "0.33333333333333"),
            ("0.00001", "1e-05"),
            ("0.0001", "0.0001"),
            ("0xff", "255"),
            ("max(1, 5, 3) - min(2, 1)", "4"),
            ("(1 + 2) * (3 - 4)", "-3"),
            ("pi", "3.1415926535898"),
            ("floor(2.7) + ceil(2.1)", "5"),
            ("- - 3", "3"),
        ];
        for (expression, expected) in cases {
            let value = evaluate(expression).map(shown);
            assert_eq!(value.as_deref(), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let deep = "(".repeat(5_000);
        for expression in
            ["", "  ", "1 +", "(1", "1)", "os.exit()", "x", "1 2", "sqrt()", "'a'", "1..2", &deep]
        {
            assert!(evaluate(expression).is_err(), "{expression}");
        }
    }
}
