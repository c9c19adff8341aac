// Contract of exporters: one file per format, ending in one registration line. An exporter writes a Snapshot (or one node of it) in the form
// that other software reads. What the Snapshot does not know is left out or written as that format's own "unknown", never invented
// without saying so in a comment of the output. Pure: same snapshot, same bytes.
#pragma once

#include <string>

#include "base/registry.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

struct ExportOptions {
  DeviceId node;  // formats that describe one node; none = the site's only (or first) node
};

struct ExporterEntry {
  std::string name;  // "nccl-xml": the file is nccl_xml.cc
  std::string help;  // one line
  bool one_node;     // describes a single node
  // Errors: nothing in the snapshot that the format could say; too large for a drawing.
  Result<std::string> (*write)(const Snapshot& snapshot, const ExportOptions& options);
};
Registry<ExporterEntry>& exporters();

}  // namespace weft::fabric
