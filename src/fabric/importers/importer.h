// Contract of importers: one file per format, ending in one registration line. An importer turns the text of one file into an
// Observed; it may assume that import_text() has checked size (64 MiB), text (no NUL, valid UTF-8) and line ends (CRLF is turned into LF).
// It must never invent a value, never open files, never depend on the file's name, and must take time and memory in proportion to the text.
#pragma once

#include <string>
#include <string_view>

#include "base/registry.h"
#include "fabric/observed.h"

namespace weft::fabric {

constexpr std::size_t kMaxImportBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxImportDevices = 250'000;  // nodes and switches of the largest sites; bounds memory on nonsense
constexpr int kMaxImportDepth = 64;

struct ImporterEntry {
  std::string name;  // "nccl-xml": the file is nccl_xml.cc
  std::string help;  // one line
  // Cheap: looks at the whole text but reads no structure. True = "this is mine, and errors about it should come from me".
  bool (*recognises)(std::string_view text);
  // Errors: what is wrong, "file:line", what to do. Nothing half-read is returned.
  Result<Observed> (*read)(std::string_view text, const std::string& file);
};
Registry<ImporterEntry>& importers();

// Checks the text, picks the importer (by `format`, else the only one that recognises it) and reads. Errors: not text, too large, empty,
// unknown format name, nobody or several recognise it.
Result<Observed> import_text(std::string_view text, const std::string& file, const std::string& format = {});

}  // namespace weft::fabric
