#pragma once

// The file of a sweep: opened, locked, read up to where it is sound, cut there, and appended to.

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/result/outcome.hpp"
#include "study/sweep/result/result.hpp"

namespace pipeloom::sweep {

/// Treatment of a file that exists already.
enum class Existing : unsigned char { Refuse, Overwrite, Resume };

/// Throws InputError if there is such a file: said before the work, not after it.
void require_absent(const std::string& path);

/// A result file on the disk. Its header is synced (fsync) when the file is made, its lines by sync(). A crash of the process loses nothing
/// that was written; lines that a crash of the machine tears are dropped by Existing::Resume.
class ResultFile {
 public:
  /// The sound part of a file.
  struct Found {
    std::uint64_t lines = 0;  ///< sound lines after the header
    std::uint64_t next_point =
        0;                      ///< one above the last sound point: every point of the shard below is there
    std::uint64_t dropped = 0;  ///< bytes after them that were cut off
  };

  /// Opens `path` ("-": standard output; devices and pipes are written as they are) and leaves the header as its beginning. With
  /// Existing::Resume it reads the lines that are there: of each, point, key and configuration must be those that come next in the grid, byte
  /// for byte, and status, metrics and error must have their form; everything from the first line that fails, or lacks its end, is cut off.
  /// A file that ends within its header counts as empty. The digits of metrics and the words of errors are not checked.
  ///
  /// Throws InputError if the file is there (Existing::Refuse), is locked by another sweep, is no result, or (Existing::Resume) belongs to
  /// another grid, version, shard, format or set of metrics: the message says which; SystemError if it cannot be written.
  ResultFile(std::string path, const Grid& grid, const Header& header, const LineWriter& lines,
             Existing existing, const std::atomic<bool>* stop = nullptr);
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  [[nodiscard]] const Found& found() const { return found_; }
  /// `lines`: whole lines. If the disk refuses, cuts the file after the last whole line and throws SystemError naming the file and how to
  /// go on.
  void append(std::string_view lines);
  /// Makes sure that everything appended is on the disk, in a file that still has its name and its length. Throws SystemError.
  void sync();

 private:
  void open(Existing existing);
  void begin(const std::string& preamble);
  void verify(const std::string& preamble, const Grid& grid, const Header& header, const LineWriter& lines,
              const std::atomic<bool>* stop);
  void cut(std::uint64_t size);
  void close();
  /// Throws SystemError if the file has not the length that was written, or not its name any more.
  void require_length() const;
  void require_in_place() const;
  [[noreturn]] void lost(std::string_view how) const;
  [[noreturn]] void fail(int error, std::string_view written);

  std::string path_;
  int descriptor_ = -1;
  bool regular_ = false;
  bool goes_on_ = false;  ///< the file goes on after size_: an interrupted check has cut nothing off
  std::uint64_t size_ = 0;
  Found found_;
};

// Pieces come in any order, the file grows in one: piece i is written once 0 .. i-1 are.

/// Puts pieces in order. Not thread-safe. The caller bounds the pieces that wait: look at waiting_bytes() before handing out the next one.
class PrefixWriter {
 public:
  /// `first_piece`: the one that is written first.
  PrefixWriter(ResultFile& file, std::uint64_t first_piece) : file_(file), next_(first_piece) {}
  /// Takes the lines of a piece and writes all pieces that are next in order. A piece that comes twice (from a worker that was given up, and
  /// from the one that did its work again) is ignored. After a piece that is not complete nothing is written any more.
  /// Throws SystemError as ResultFile::append().
  void put(std::uint64_t piece, PieceText text);
  /// The first piece that is missing.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_bytes_; }
  /// Counts of the pieces that are written.
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// One above the last point of the written pieces; 0 before the first piece.
  [[nodiscard]] std::uint64_t end_point() const { return end_point_; }

 private:
  void write(const PieceText& text);

  ResultFile& file_;
  std::uint64_t next_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t end_point_ = 0;
  bool ended_ = false;
  Counts counts_;
  std::map<std::uint64_t, PieceText> waiting_;
};

}  // namespace pipeloom::sweep
