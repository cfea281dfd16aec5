-- The tools that the conformance suite calls, as a script of the person who serves them.
local tools = require("flemma.tools")

local function tool(name, execute)
  local schema = { type = "object", properties = {} }
  tools.register(name, { description = name, input_schema = schema, execute = execute })
end

tool("test_simple_text", function()
  return { success = true, output = "This is a simple text response for testing." }
end)
tool("test_error_handling", function()
  return { success = false, error = "This tool intentionally returns an error for testing" }
end)
