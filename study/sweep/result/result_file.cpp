#include "study/sweep/result/result_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "study/text/result_text.hpp"

namespace pipeloom::sweep {

namespace {

/// Locks of a file system that has none are done without.
bool is_unsupported(int error) {
  return error == ENOLCK || error == ENOTSUP || error == ENOSYS || error == EINVAL;
}

void lock_file(int descriptor, const std::string& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || is_unsupported(errno)) return;
  if (errno == EWOULDBLOCK)
    throw InputError(Where{path},
                     "another sweep is writing this file; wait for it, stop it, or name another file");
  throw SystemError::cannot_write(path, std::strerror(errno));
}

std::string shard_text(const Header& header) {
  return header.shard ? "shard " + header.shard->text() : "the whole grid";
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(Where{path}, why + "; name another file, or use --force to overwrite it");
}

[[noreturn]] void refuse_existing(const std::string& path) {
  throw InputError(
      Where{path},
      "the file exists already; use --resume to go on with it, --force to overwrite it, or another name");
}

/// Throws InputError saying how the header of an existing file differs from the one that it should have.
[[noreturn]] void refuse_header(const std::string& path, std::string_view line, const Header& wanted) {
  const bool is_csv = line.substr(0, 2) == "# ";
  Header found;
  try {
    found = read_header(is_csv ? line.substr(2) : line, {path, 1});
  } catch (const InputError&) {
    refuse(path, "cannot go on with this file: it is no result of a sweep");
  }
  if (found.version != wanted.version)
    refuse(path, fmt::format("cannot go on with this file: version {} wrote it, and this is {}",
                             shortened(found.version, 32), wanted.version));
  if (found.grid != wanted.grid)
    refuse(path, fmt::format("cannot go on with this file: it belongs to another grid ({}, not {})",
                             shortened(found.grid, 32), wanted.grid));
  if (found.scenarios != wanted.scenarios)
    refuse(path, fmt::format("cannot go on with this file: it has {}, not {}", found.scenarios_text(),
                             wanted.scenarios_text()));
  if (found.shard != wanted.shard)
    refuse(path, fmt::format("cannot go on with this file: it holds {}, not {}", shard_text(found),
                             shard_text(wanted)));
  if (found.metrics != wanted.metrics)
    refuse(path,
           fmt::format("cannot go on with this file: its metrics are {}, not {}",
                       shortened(join(found.metrics, ", "), 80), shortened(join(wanted.metrics, ", "), 80)));
  refuse(path, "cannot go on with this file: it has another format, or its header is damaged");
}

/// Compares the lines of a file with those that the grid prescribes.
class Verifier {
 public:
  Verifier(const Grid& grid, const LineWriter& lines, const std::optional<Shard>& shard)
      : grid_(grid), lines_(lines), shard_(shard) {}

  /// True if `line` is the one that comes next.
  bool is_next(std::string_view line) {
    if (!advance()) return false;
    identity_.clear();
    lines_.append_identity(identity_, combination_, point_, key_);
    return line.substr(0, identity_.size()) == identity_ && lines_.is_outcome(line.substr(identity_.size()));
  }
  [[nodiscard]] std::uint64_t point() const { return point_; }

 private:
  /// Goes to the next point of the shard; false after the last.
  bool advance() {
    while (index_ < grid_.combinations()) {
      if (!grid_.combination(index_++, combination_)) continue;
      point_ = next_point_++;
      key_ = grid_.key(combination_);
      if (!shard_ || shard_->has(key_)) return true;
    }
    return false;
  }

  const Grid& grid_;
  const LineWriter& lines_;
  const std::optional<Shard>& shard_;
  std::uint64_t index_ = 0;
  std::uint64_t next_point_ = 0;
  std::uint64_t point_ = 0;
  Combination combination_;
  std::string key_;
  std::string identity_;
};

}  // namespace

void require_absent(const std::string& path) {
  struct stat info {};
  if (path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) refuse_existing(path);
}

ResultFile::ResultFile(std::string path, const Grid& grid, const Header& header, const LineWriter& lines,
                       Existing existing, const std::atomic<bool>* stop)
    : path_(std::move(path)) {
  const std::string preamble = lines.preamble(header);
  try {
    open(existing);
    if (existing == Existing::Resume && regular_) verify(preamble, grid, header, lines, stop);
    if (size_ == 0) begin(preamble);
  } catch (...) {
    close();
    throw;
  }
}

ResultFile::~ResultFile() {
  close();
}

void ResultFile::close() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  descriptor_ = -1;
}

void ResultFile::open(Existing existing) {
  const auto require_file = [&] {
    if (existing == Existing::Resume)
      throw InputError(Where{path_}, "there is nothing to resume: this is no file; name one by -o");
  };
  if (path_ == "-") {
    path_ = "standard output";
    require_file();
    descriptor_ = STDOUT_FILENO;
    return;
  }
  if (path_.empty()) throw InputError("the name of the output file is empty; name a file, or -");
  struct stat info {};
  const bool is_there = ::stat(path_.c_str(), &info) == 0;
  regular_ = !is_there || S_ISREG(info.st_mode);
  if (!regular_) require_file();
  // Only O_EXCL finds out which of two sweeps that start at once has made the file.
  const int must_be_new = existing == Existing::Refuse ? O_EXCL : 0;
  descriptor_ = regular_ ? ::open(path_.c_str(), O_RDWR | O_CREAT | must_be_new | O_CLOEXEC, 0666)
                         : io::open_to_write(path_);
  if (descriptor_ < 0 && errno == EEXIST) refuse_existing(path_);
  if (descriptor_ < 0) throw SystemError::cannot_write(path_, std::strerror(errno));
  if (regular_) lock_file(descriptor_, path_);
}

void ResultFile::begin(const std::string& preamble) {
  if (regular_ && ::ftruncate(descriptor_, 0) != 0) fail(errno, "");
  if (regular_ && ::lseek(descriptor_, 0, SEEK_SET) != 0) fail(errno, "");
  append(preamble);
  if (!regular_) return;
  sync();
  io::sync_folder(path_);
}

void ResultFile::verify(const std::string& preamble, const Grid& grid, const Header& header,
                        const LineWriter& lines, const std::atomic<bool>* stop) {
  LineSource source(descriptor_, path_);
  std::string begun;
  std::string line;
  while (begun.size() < preamble.size() && source.next(line)) begun += line + (source.ended() ? "\n" : "");
  if (begun != preamble) {
    // A sweep that was killed while it wrote its first line leaves such a file.
    if (begun.size() < preamble.size() && preamble.compare(0, begun.size(), begun) == 0) return;
    refuse_header(path_, begun.substr(0, begun.find('\n')), header);
  }
  size_ = preamble.size();
  Verifier verifier(grid, lines, header.shard);
  while (source.next(line) && source.ended() && verifier.is_next(line)) {
    size_ = source.offset();
    ++found_.lines;
    found_.next_point = verifier.point() + 1;
    // Nothing has been cut off yet, so that a user who interrupts a long check loses nothing.
    if (stop != nullptr && *stop) {
      goes_on_ = true;
      return;
    }
  }
  cut(size_);
}

void ResultFile::cut(std::uint64_t size) {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) fail(errno, "");
  found_.dropped = static_cast<std::uint64_t>(info.st_size) - size;
  const auto end = static_cast<off_t>(size);
  if (found_.dropped > 0 && ::ftruncate(descriptor_, end) != 0) fail(errno, "");
  if (::lseek(descriptor_, end, SEEK_SET) != end) fail(errno, "");
}

void ResultFile::append(std::string_view lines) {
  // Here and not only in sync(): writing after the end of a shortened file would fill the gap with zeros and hide it.
  require_length();
  std::string_view left = lines;
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno, lines.substr(0, lines.size() - left.size()));
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += lines.size();
}

void ResultFile::fail(int error, std::string_view written) {
  if (!regular_) throw SystemError::cannot_write(path_, std::strerror(error));
  // The disk may hold half a line; cut after the last whole one. If even that fails, --resume does it.
  const std::size_t end = written.rfind('\n');
  size_ += end == std::string_view::npos ? 0 : end + 1;
  const bool is_cut = ::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0;
  throw SystemError::cannot_write(
      path_, fmt::format("{}; the results up to there are kept{}, go on with --resume", std::strerror(error),
                         is_cut ? "" : ", the last line may be cut short"));
}

void ResultFile::lost(std::string_view how) const {
  throw SystemError::cannot_write(
      path_,
      fmt::format("the file {} while the sweep wrote it; put it back and go on with --resume, or start again",
                  how));
}

void ResultFile::require_length() const {
  struct stat own {};
  if (!regular_ || goes_on_ || ::fstat(descriptor_, &own) != 0) return;
  const auto length = static_cast<std::uint64_t>(own.st_size);
  if (length != size_) lost(length < size_ ? "was cut short" : "was written by others");
}

void ResultFile::require_in_place() const {
  require_length();
  struct stat own {};
  struct stat named {};
  if (!regular_ || ::fstat(descriptor_, &own) != 0) return;
  const bool is_there = ::stat(path_.c_str(), &named) == 0;
  if (own.st_nlink == 0) lost(is_there ? "was replaced" : "was removed");
  if (!is_there) lost("was renamed or removed");
  if (named.st_dev != own.st_dev || named.st_ino != own.st_ino)
    lost("was renamed and another put in its place");
}

void ResultFile::sync() {
  require_in_place();
  if (::fdatasync(descriptor_) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP) return;
  fail(errno, "");
}

void PrefixWriter::put(std::uint64_t piece, PieceText text) {
  if (piece < next_ || waiting_.count(piece) != 0) return;
  waiting_bytes_ += text.lines.size();
  waiting_.emplace(piece, std::move(text));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_ && !ended_;
       first = waiting_.begin()) {
    const PieceText in_turn = std::move(first->second);
    waiting_bytes_ -= in_turn.lines.size();
    waiting_.erase(first);
    write(in_turn);
  }
}

void PrefixWriter::write(const PieceText& text) {
  file_.append(text.lines);
  counts_.add(text.counts);
  end_point_ = text.end_point;
  ended_ = !text.complete;
  if (text.complete) ++next_;
}

}  // namespace pipeloom::sweep
