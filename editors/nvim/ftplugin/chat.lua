-- Options and keys of a `.chat` buffer.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

vim.opt_local.wrap = true
vim.opt_local.linebreak = true
vim.opt_local.autoread = true
vim.opt_local.foldmethod = "expr"
vim.opt_local.foldexpr = "v:lua.require'journeyman.inspection'.fold(v:lnum)"
vim.opt_local.foldlevel = 1
vim.opt_local.omnifunc = "v:lua.require'journeyman.complete'.omnifunc"

require("journeyman").attach(vim.api.nvim_get_current_buf())
