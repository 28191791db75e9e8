// In place of sim/io/links/deflate.cpp where there is no zlib: pages pack and unpack links with the browser's own streams (web/links.mjs).

#include <pipeloom/error.hpp>
#include "sim/io/links/deflate.hpp"

namespace pipeloom::io {
namespace {

[[noreturn]] void refuse() {
  throw InputError(Where{"link"},
                   "this build has no zlib to pack or unpack it; the page that holds this module does");
}

}  // namespace

std::string deflated(std::string_view) {
  refuse();
}

Unpacked inflate_into(std::string&, std::string_view, std::size_t) {
  refuse();
}

}  // namespace pipeloom::io
