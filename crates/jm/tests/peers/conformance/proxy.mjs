// Passes requests on to `jm mcp serve --http`, with its token, which the suite cannot send.
// usage: proxy.mjs ADDRESS TOKEN; prints its own port
import http from "node:http";

const [address, token] = process.argv.slice(2);
const [hostname, port] = address.split(":");
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { method, url: path } = request;
  const passed = http.request({ hostname, port, method, path, headers, setHost: false }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});
proxy.listen(0, "127.0.0.1", () => console.log(proxy.address().port));
