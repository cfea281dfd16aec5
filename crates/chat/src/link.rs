//! Calls and the results that answer them.
//!
//! A call is answered in the `@You:` sections between its message and the next `@Assistant:`, so that an
//! id which a later message uses again means the later call.

use std::collections::HashMap;

use crate::block::{BlockKind, ChatBlock, ChatRole, RoleSection};
use crate::diagnostic::{self, Diagnostic, Severity};
use crate::span::column_of;

/// The place of a block: its section, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) section: usize,
    pub(crate) block: usize,
}

/// A call and the block that answers it, a placeholder included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallLink {
    pub(crate) call: BlockPlace,
    pub(crate) result: Option<BlockPlace>,
}

#[derive(Debug, Default)]
pub(crate) struct Links {
    pub(crate) calls: Vec<CallLink>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

pub(crate) fn link(bytes: &[u8], sections: &[RoleSection]) -> Links {
    let mut links = Links::default();
    // The calls of the last message of the assistant, by id.
    let mut open: HashMap<&[u8], usize> = HashMap::new();
    for (number, section) in sections.iter().enumerate() {
        if section.role == ChatRole::Assistant {
            open.clear();
        }
        for (at, block) in section.blocks.iter().enumerate() {
            let place = BlockPlace { section: number, block: at };
            match &block.kind {
                BlockKind::ToolUse(call) => {
                    let id = call.id.of(bytes);
                    if open.contains_key(id) {
                        links.warn(bytes, block, diagnostic::called_twice(&call.id.text_of(bytes)));
                        continue;
                    }
                    open.insert(id, links.calls.len());
                    links.calls.push(CallLink { call: place, result: None });
                }
                BlockKind::ToolResult(result) => match open.get(result.id.of(bytes)) {
                    Some(call) => {
                        let earlier = links.calls[*call].result.replace(place);
                        if let Some(earlier) = earlier {
                            let block = &sections[earlier.section].blocks[earlier.block];
                            let id = result.id.text_of(bytes);
                            links.warn(bytes, block, diagnostic::answered_twice(&id));
                        }
                    }
                    None => {
                        links.warn(
                            bytes,
                            block,
                            diagnostic::no_call_for(&result.id.text_of(bytes)),
                        );
                    }
                },
                BlockKind::Text
                | BlockKind::Thinking(_)
                | BlockKind::Aborted(_)
                | BlockKind::Malformed => {}
            }
        }
    }
    links
}

impl Links {
    fn warn(&mut self, bytes: &[u8], block: &ChatBlock, message: String) {
        let (line, column) = (block.line, column_of(bytes, block.span.start));
        self.diagnostics.push(Diagnostic { severity: Severity::Warning, line, column, message });
    }
}
