#include "fabric/site.h"

#include <algorithm>

#include "base/embedded.h"
#include "base/text.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kTopKeys[] = {"site",    "title",      "models",   "supernodes", "scale_out", "storage_network",
                                         "storage", "management", "facility", "switches",   "cables",    "domains",
                                         "aliases", "unknown",    "sources"};

}  // namespace

Result<SiteSpec> parse_site(std::string_view content, std::string file) {
  SiteSpec spec;
  WEFT_ASSIGN(spec.document, Yaml::parse(content, file));
  spec.file = std::move(file);
  spec.text = std::string(content);
  if (spec.document.kind() != Yaml::Kind::kMap)
    return spec.document.error("a site file is a mapping that starts with 'site: NAME' (docs/site-file.md)");
  WEFT_TRY(spec.document.only({std::begin(kTopKeys), std::end(kTopKeys)}));
  if (!spec.document.has("site")) return spec.document.error("the site has no name: add 'site: NAME'");
  WEFT_ASSIGN(spec.name, spec.document.get("site").text());
  if (spec.name.empty() || spec.name.find_first_of("/: ") != std::string::npos)
    return spec.document.get("site").error("a site's name is one word without '/', ':' or blanks");
  if (spec.document.get("supernodes").size() == 0) return spec.document.error("a site needs at least one entry under 'supernodes:'");
  return spec;
}

std::vector<std::string> known_sites() {
  std::vector<std::string> out;
  for (std::string_view folder : {"data/sites/", "data/forms/"})
    for (const std::string& path : embedded_paths(folder))
      if (path.ends_with(".yaml")) out.push_back(path.substr(folder.size(), path.size() - folder.size() - 5));
  std::sort(out.begin(), out.end());
  return out;
}

Result<SiteSpec> read_site(const std::string& name_or_path) {
  for (std::string_view folder : {"data/sites/", "data/forms/"}) {
    std::string path = std::string(folder) + name_or_path + ".yaml";
    if (auto content = embedded_file(path)) return parse_site(*content, path);
  }
  auto content = read_file(name_or_path, std::size_t{64} << 20);
  if (!content) {
    if (content.error().kind == ErrorKind::kNotFound && name_or_path.find('/') == std::string::npos &&
        name_or_path.find('.') == std::string::npos)
      return fail(ErrorKind::kNotFound, "no site '" + name_or_path + "': neither built in ('weft list sites') nor a file");
    return std::unexpected(content.error());
  }
  return parse_site(*content, name_or_path);
}

Result<Snapshot> load_site(const std::string& name_or_path) {
  WEFT_ASSIGN(auto spec, read_site(name_or_path));
  return build(spec);
}

}  // namespace weft::fabric
