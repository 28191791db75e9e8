// In place of sim/io/traces/nsys.cpp where there is no SQLite.

#include <pipeloom/error.hpp>
#include "sim/io/traces/trace_readers.hpp"

namespace pipeloom::io {

void read_nsys(const std::string& path, const RangeNames& /*names*/, Trace& /*trace*/) {
  throw InputError(Where{path},
                   "this is a database of Nsight Systems, and this build has no SQLite to read it; make a "
                   "timeline of it with a "
                   "pipeloom that has (`pipeloom convert FILE out.jsonl`)");
}

}  // namespace pipeloom::io
