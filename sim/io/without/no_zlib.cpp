// In place of sim/io/traces/byte_source.cpp where there is no zlib: files as they are, and gzip's are refused.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <pipeloom/error.hpp>
#include "sim/io/json/file.hpp"
#include "sim/io/traces/byte_source.hpp"

namespace pipeloom::io {

struct ByteSource::File {
  explicit File(int number) : descriptor(number) {}
  ~File() { ::close(descriptor); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor;
  bool at_begin = true;
};

ByteSource::ByteSource(const std::string& path)
    : path_(path), file_(std::make_unique<File>(open_to_read(path))) {}

ByteSource::~ByteSource() = default;

bool ByteSource::is_packed() const {
  return false;
}

std::size_t ByteSource::read(std::span<char> room) {
  const ssize_t count = ::read(file_->descriptor, room.data(), room.size());
  if (count < 0) throw InputError::cannot_read(path_, std::strerror(errno));
  const std::string_view bytes(room.data(), static_cast<std::size_t>(count));
  if (file_->at_begin && bytes.starts_with("\x1f\x8b"))
    throw InputError(
        Where{path_},
        "gzip has packed this, and this build has no zlib to unpack it; unpack it first (gunzip)");
  file_->at_begin = false;
  return bytes.size();
}

}  // namespace pipeloom::io
