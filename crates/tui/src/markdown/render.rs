//! Whole Markdown blocks to lines (pulldown-cmark).

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::table::Table;
use crate::text::{Attributes, Line, Role, Style};

/// The widest rule; a longer one says no more.
const WIDEST_RULE: usize = 40;

pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Renders Markdown; only tables and rules depend on the width.
pub fn render(source: &str, width: usize) -> Vec<Line> {
    let mut renderer = Renderer::new(width);
    for event in Parser::new_ext(source, options()) {
        renderer.event(event);
    }
    renderer.end_line();
    while renderer.out.last().is_some_and(Line::is_empty) {
        renderer.out.pop();
    }
    renderer.out
}

struct Renderer {
    width: usize,
    out: Vec<Line>,
    line: Line,
    styles: Vec<Style>,
    /// The prefix of each line in the containers we are in, and before the next line only.
    prefixes: Vec<String>,
    mark: Option<String>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    link: Option<Link>,
    table: Option<Table>,
    is_code: bool,
    /// The next block stands apart from what is above it.
    wants_gap: bool,
}

struct Link {
    address: String,
    text: String,
}

impl Renderer {
    fn new(width: usize) -> Self {
        Self {
            width,
            out: Vec::new(),
            line: Line::new(),
            styles: vec![Style::default()],
            prefixes: Vec::new(),
            mark: None,
            lists: Vec::new(),
            link: None,
            table: None,
            is_code: false,
            wants_gap: false,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let style = Style { role: Role::Code, ..self.style() };
                self.put(&text, style);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.html(&text),
            Event::FootnoteReference(name) => self.put(&format!("[{name}]"), Role::Muted.into()),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.width.min(WIDEST_RULE));
                self.put(&rule, Role::Muted.into());
                self.end_line();
                self.wants_gap = true;
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let underlined = match level {
                    HeadingLevel::H1 => Attributes::UNDERLINED,
                    _ => Attributes::NONE,
                };
                self.styles.push(Style::of(Role::Heading).with(underlined));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.prefixes.push("> ".into());
                self.styles.push(Style { role: Role::Muted, ..self.style() });
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                self.is_code = true;
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                self.put(&format!("```{language}"), Role::Muted.into());
                self.end_line();
            }
            Tag::List(first) => {
                self.end_line();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                self.wants_gap = false;
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.prefixes.push(" ".repeat(crate::text::width::width(&mark)));
                self.mark = Some(mark);
            }
            Tag::Emphasis => self.styled(Attributes::ITALIC),
            Tag::Strong => self.styled(Attributes::BOLD),
            Tag::Strikethrough => self.styled(Attributes::STRUCK),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.text("image: ");
                self.begin_link(&dest_url);
            }
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_line();
                self.wants_gap = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_line();
                self.wants_gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.styles.pop();
                self.prefixes.pop();
                self.wants_gap = true;
            }
            TagEnd::CodeBlock => {
                self.is_code = false;
                self.put("```", Role::Muted.into());
                self.end_line();
                self.wants_gap = true;
            }
            TagEnd::List(_) => {
                self.end_line();
                self.lists.pop();
                self.wants_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.prefixes.pop();
                self.mark = None;
                self.wants_gap = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                let table = self.table.take().unwrap_or_default();
                let room = self.width.saturating_sub(self.prefixes.concat().len());
                for line in table.lines(room) {
                    self.line = line;
                    self.end_line_even_if_empty();
                }
                self.wants_gap = true;
            }
            TagEnd::HtmlBlock => {
                self.end_line();
                self.wants_gap = true;
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn styled(&mut self, attributes: Attributes) {
        self.styles.push(self.style().with(attributes));
    }

    fn begin_link(&mut self, address: &str) {
        self.link = Some(Link { address: address.to_owned(), text: String::new() });
        self.styles.push(Style { role: Role::Link, ..self.style() });
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(link) = self.link.take() else { return };
        if !link.address.is_empty() && link.address != link.text {
            self.put(&format!(" ({})", link.address), Role::Muted.into());
        }
    }

    fn text(&mut self, text: &str) {
        self.put(text, self.style());
    }

    fn html(&mut self, text: &str) {
        for (number, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            self.put(line, Role::Muted.into());
        }
    }

    fn code(&mut self, text: &str) {
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.put(line, Role::Code.into());
            self.end_line_even_if_empty();
        }
    }

    fn put(&mut self, text: &str, style: Style) {
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        if self.line.is_empty() && self.table.is_none() {
            let prefix = self.prefix();
            self.line.push(prefix, Role::Muted);
        }
        self.line.push(text, style);
    }

    /// The first line of an item has its mark in place of the blanks.
    fn prefix(&mut self) -> String {
        let Some(mark) = self.mark.take() else { return self.prefixes.concat() };
        let outer = self.prefixes.len().saturating_sub(1);
        format!("{}{mark}", self.prefixes[..outer].concat())
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.out.push(std::mem::take(&mut self.line));
        }
    }

    fn end_line_even_if_empty(&mut self) {
        self.out.push(std::mem::take(&mut self.line));
    }

    fn gap(&mut self) {
        self.end_line();
        if std::mem::take(&mut self.wants_gap) && !self.out.is_empty() {
            self.out.push(Line::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, width: usize) -> String {
        render(source, width).iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn each_element_has_its_form() {
        let cases = [
            ("# One\n\ntext *a* **b** `c`", "One\n\ntext a b c\n"),
            ("one\ntwo\n\nthree  \nfour", "one two\n\nthree\nfour\n"),
            ("- a\n- b\n  - c\n\n    more\n- d", "• a\n• b\n  • c\n\n    more\n• d\n"),
            ("3. a\n4. b", "3. a\n4. b\n"),
            ("- [x] done\n- [ ] open", "• [x] done\n• [ ] open\n"),
            ("> quoted\n> text", "> quoted text\n"),
            ("```rust\nfn a() {}\n\n}\n```\nafter", "```rust\nfn a() {}\n\n}\n```\n\nafter\n"),
            (
                "see [here](https://a.b/) or <https://c.d>",
                "see here (https://a.b/) or https://c.d\n",
            ),
            ("![a picture](x.png)", "image: a picture (x.png)\n"),
            ("a\n\n---\n\nb", "a\n\n────────\n\nb\n"),
            ("<b>x</b>", "<b>x</b>\n"),
            ("- a\n  ```\n  code\n  ```", "• a\n  ```\n  code\n  ```\n"),
        ];
        for (source, expected) in cases {
            assert_eq!(shown(source, 8), expected, "{source}");
        }
    }

    #[test]
    fn prose_is_never_broken_by_us() {
        let long = "word ".repeat(200);
        assert_eq!(render(&long, 40).len(), 1);
    }
}
