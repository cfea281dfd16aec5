" Syntax of `.chat` documents: roles, tool blocks, thinking; the words themselves are Markdown.
if exists("b:current_syntax")
  finish
endif
runtime! syntax/markdown.vim
unlet! b:current_syntax

syntax match chatSystem    /^@System:/
syntax match chatYou       /^@You:/
syntax match chatAssistant /^@Assistant:/
syntax match chatToolUse    /^\*\*Tool Use:\*\*\s\+`[^`]*`\s\+(`[^`]*`)\s*$/ contains=chatName
syntax match chatToolResult /^\*\*Tool Result:\*\*\s\+`[^`]*`.*$/ contains=chatName,chatError
syntax match chatName  /`[^`]*`/ contained
syntax match chatError /(error)/ contained
syntax match chatStatus /status=\(approved\|pending\|denied\|rejected\|aborted\)/
syntax match chatThinking /^<\/\?thinking.*>$/
syntax match chatAborted /^<!-- flemma:aborted:.*-->$/
syntax match chatFile /\(^\|\s\)\zs@\(\.\{1,2}\/\|\~\/\|\/\/\)\S\+/

highlight default link chatSystem Special
highlight default link chatYou Title
highlight default link chatAssistant Function
highlight default link chatToolUse Identifier
highlight default link chatToolResult Identifier
highlight default link chatName String
highlight default link chatError ErrorMsg
highlight default link chatStatus Todo
highlight default link chatThinking Comment
highlight default link chatAborted WarningMsg
highlight default link chatFile Underlined
highlight default link FlemmaToolPreview Comment
highlight default link JourneymanSpinner DiagnosticInfo
highlight default link JourneymanAnswer Comment

let b:current_syntax = "chat"
