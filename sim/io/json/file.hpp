#pragma once

// Files, whole: read at once, written all or nothing. The name "-" is standard input or output.

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace pipeloom::io {

/// The largest input of any kind.
inline constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

/// The content of a file or of standard input. Throws InputError if it cannot be read, is a folder, or holds more than
/// `limit` bytes; of an endless one no more than that is read.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t limit = kMaxFileBytes);

/// Returns a descriptor of it, which the caller closes. Throws InputError if it cannot be opened, or is a named pipe whose other end no program
/// opens within some seconds.
[[nodiscard]] int open_to_read(const std::string& path);

/// The same of a device or pipe to write to. Throws SystemError.
[[nodiscard]] int open_to_write(const std::string& path);

/// May an existing file be replaced?
enum class Overwrite : bool { No, Yes };

/// Calls `write` with a stream and puts what it wrote at `path`. The file appears complete or not at all: it is written
/// under a temporary name in the same folder, brought to the disk and renamed. A device such as /dev/null and a pipe are written directly.
/// Throws InputError if the file exists and may not be overwritten, SystemError if the disk refuses; no file is left then.
void write_file(const std::string& path, Overwrite overwrite,
                const std::function<void(std::ostream&)>& write);

/// Brings the name of a file to the disk as well. As far as the file system does that: some refuse.
void sync_folder(const std::string& path);

/// `path` taken relative to the folder of `base`, unless it is absolute: how a file names another one.
[[nodiscard]] std::string relative_to(std::string_view base, std::string_view path);

}  // namespace pipeloom::io
