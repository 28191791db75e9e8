#include "executor/net/heard.hpp"

#include "support/catch.hpp"

namespace pipeloom::executor::net {

Frame numbered(std::uint32_t number, std::size_t size) {
  Writer out;
  out.u32(number);
  Bytes body = std::move(out).take();
  body.resize(body.size() + size, static_cast<std::byte>(number * 7));
  return {static_cast<std::uint8_t>(number), std::move(body)};
}

void check_numbered(const std::vector<Frame>& frames, std::size_t size) {
  for (std::uint32_t i = 0; i < frames.size(); ++i) {
    const Frame want = numbered(i, size);
    REQUIRE(frames[i].kind == want.kind);
    REQUIRE(frames[i].body == want.body);
  }
}

}  // namespace pipeloom::executor::net
