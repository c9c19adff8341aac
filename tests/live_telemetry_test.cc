// weft inspect and weft diagnose on what exporters say: kept pages, and addresses that are scraped while they change.
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/httplib.h"
#include "base/text.h"
#include "fabric/site.h"
#include "tests/weft_command.h"
#include "twin/world.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("weft-live-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

// lab-32's twin as its exporters would tell it: one page a second, facts as lines.
struct Exported {
  std::vector<std::string> pages;
  std::string facts;
  explicit Exported(int seconds_of, const std::string& fault = "", const std::string& target = "") {
    auto site = fabric::load_site("lab-32");
    telemetry::SeriesTable series;
    twin::World world(*site, series, {});
    if (!fault.empty() && !world.inject({.fault = fault, .target = target, .at = seconds(0)})) ADD_FAILURE() << "no such fault";
    std::map<std::uint32_t, double> latest;
    for (int i = 0; i < seconds_of; ++i) {
      world.wait_until(world.now() + seconds(1));
      telemetry::Batch batch;
      EXPECT_TRUE(world.poll(world.now(), batch).has_value());
      for (const auto& s : batch.samples) latest[s.series.v] = s.value;
      std::string page;
      for (const auto& [id, value] : latest) {
        telemetry::SeriesId s{id};
        std::string labels = "entity=\"" + std::string(series.entity(s)) + "\"";
        for (std::string_view one : split(series.labels(s), ','))
          if (std::size_t eq = one.find('='); eq != std::string_view::npos)
            labels += "," + std::string(one.substr(0, eq)) + "=\"" + std::string(one.substr(eq + 1)) + "\"";
        std::ostringstream line;
        line.precision(17);
        line << series.metric(s) << "{" << labels << "} " << value << "\n";
        page += line.str();
      }
      pages.push_back(page);
      for (const auto& f : batch.facts)
        facts +=
            nlohmann::json{{"at", static_cast<double>(f.at.ns()) * 1e-9}, {"entity", f.entity}, {"key", f.key}, {"value", f.value}}.dump() +
            "\n";
    }
  }
};

TEST(InspectLive, KeptPagesOpenAndCloseTheGate) {
  Folder folder;
  Exported well(30);
  for (std::size_t i = 0; i < well.pages.size(); ++i)
    folder.write("scrapes/lab-" + std::to_string(1767225600 + i) + ".prom", well.pages[i]);
  std::string facts = folder.write("facts.jsonl", well.facts), scrapes = (folder.path / "scrapes").string();
  Ran open = weft("inspect", {"lab-32", "--metrics", scrapes, "--events", facts, "--json"});
  EXPECT_EQ(open.json()["fail"], 0) << open.out;
  EXPECT_EQ(open.json()["unknown"], 0) << open.out;
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_EQ(open.json()["pass"], weft("inspect", {"lab-32", "--json"}).json()["pass"]) << "the twin's exporters say what the twin says";

  // Without facts the software rows are unknown, and the gate stays closed unless that is allowed.
  Ran half = weft("inspect", {"lab-32", "--metrics", scrapes, "--json"});
  EXPECT_EQ(half.code, 1);
  EXPECT_EQ(half.json()["fail"], 0);
  EXPECT_GT(half.json()["unknown"].get<int>(), 0);
  for (const auto& cell : half.json()["cells"]) EXPECT_TRUE(cell["check"] != "driver_version" || cell["verdict"] == "unknown");
  EXPECT_EQ(weft("inspect", {"lab-32", "--metrics", scrapes, "--allow-unknown"}).code, 0);

  // One page is no pair: counters decide nothing.
  Ran one = weft("inspect", {"lab-32", "--metrics", scrapes + "/lab-1767225600.prom", "--check", "nic_link_downed", "--json"});
  EXPECT_EQ(one.code, 1);
  EXPECT_EQ(one.json()["pass"], 0);
  EXPECT_EQ(one.json()["unknown"], 8) << "four nodes with two NICs";
}

TEST(InspectLive, OneCardTooHotClosesTheGate) {
  Folder folder;
  std::string page;
  for (int n = 1; n <= 4; ++n)
    for (int c = 0; c < 8; ++c)
      page += "DCGM_FI_DEV_GPU_TEMP{Hostname=\"h" + std::to_string(n) + "\",gpu=\"" + std::to_string(c) + "\"} " +
              (n == 2 && c == 5 ? "91" : "55") + "\n";
  std::string map = folder.write("map.yaml", "h1: sn1/node1\nh2: sn1/node2\nh3: sn1/node3\nh4: sn1/node4\n");
  Ran a = weft("inspect", {"lab-32", "--metrics", folder.write("t.prom", page), "--map", map, "--check", "card_temperature", "--json"});
  EXPECT_EQ(a.code, 1);
  EXPECT_EQ(a.json()["pass"], 31);
  EXPECT_EQ(a.json()["fail"], 1);
  Json cells = a.json()["cells"];
  for (const auto& cell : cells) EXPECT_EQ(cell["verdict"] == "fail", cell["entity"] == "sn1/node2/card5");
  // Nobody knows h1 … h4 without the map: everything unknown, and said.
  a = weft("inspect", {"lab-32", "--metrics", (folder.path / "t.prom").string(), "--check", "card_temperature", "--json"});
  EXPECT_EQ(a.json()["unknown"], 32);
  EXPECT_NE(a.err.find("32 samples belong to no part of lab-32"), std::string::npos) << a.err;
  // A diagnosis of it would say "nothing wrong" about a machine it has not seen.
  a = weft("diagnose", {"lab-32", "--metrics", (folder.path / "t.prom").string()});
  EXPECT_EQ(a.code, 2);
  EXPECT_NE(a.err.find("none of the 32 samples belongs to a part of this site"), std::string::npos) << a.err;
}

// Pages of single hosts without a host label, named after their hosts; two scrapes each make the counters' pairs.
TEST(InspectLive, SeveralFilesOfSeveralHosts) {
  Folder folder;
  std::string map = folder.write("map.yaml", "h1: sn1/node1\nh2: sn1/node2\n");
  std::vector<std::string> words = {"lab-32", "--map", map, "--check", "nic_link_downed", "--check", "kernel_version", "--json"};
  for (const char* host : {"h1", "h2"})
    for (int scrape : {0, 1}) {
      int downed = std::string(host) == "h2" ? 3 + scrape : 3;
      words.push_back("--metrics");
      words.push_back(folder.write(std::string(host) + "-" + std::to_string(scrape) + ".prom",
                                   "node_infiniband_link_downed_total{device=\"mlx5_0\",port=\"1\"} " + std::to_string(downed) +
                                       "\nnode_uname_info{nodename=\"" + host + "\",release=\"5.15." + (host[1] == '1' ? "0" : "1") +
                                       "\"} 1\n"));
    }
  Ran a = weft("inspect", words);
  std::map<std::string, std::string> verdict;
  Json cells = a.json()["cells"];
  for (const auto& cell : cells) verdict[cell["check"].get<std::string>() + " " + cell["entity"].get<std::string>()] = cell["verdict"];
  EXPECT_EQ(verdict["nic_link_downed sn1/node1/nic0"], "pass") << a.out;
  EXPECT_EQ(verdict["nic_link_downed sn1/node2/nic0"], "fail");
  EXPECT_EQ(verdict["nic_link_downed sn1/node1/nic1"], "unknown");
  EXPECT_EQ(verdict["kernel_version sn1/node1"], "fail") << "one against one: no baseline";
  EXPECT_EQ(verdict["kernel_version sn1/node3"], "unknown");
  EXPECT_EQ(a.code, 1);
}

TEST(InspectLive, TwinAndSiteAreNotMixed) {
  Ran a = weft("inspect", {"lab-32", "--metrics", "x.prom", "--fault", "link_down"});
  EXPECT_EQ(a.code, 2);
  EXPECT_NE(a.err.find("--fault is of the twin"), std::string::npos) << a.err;
  EXPECT_EQ(weft("inspect", {"lab-32", "--metrics", "/nonexistent.prom"}).code, 2);
}

// An exporter whose page is the next one at every request, the last one for ever.
struct Exporter {
  httplib::Server server;
  std::vector<std::string> pages;
  std::atomic<std::size_t> asked{0};
  int port = 0;
  std::thread thread;
  explicit Exporter(std::vector<std::string> p) : pages(std::move(p)) {
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& r) {
      r.set_content(pages[std::min(asked++, pages.size() - 1)], "text/plain; version=0.0.4");
    });
    port = server.bind_to_any_port("127.0.0.1");
    thread = std::thread([this] { server.listen_after_bind(); });
    while (!server.is_running()) std::this_thread::yield();
  }
  ~Exporter() { server.stop(), thread.join(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port) + "/metrics"; }
};

TEST(InspectLive, AddressesAreScrapedAgainAndAgain) {
  Exported well(20);
  Exporter exporter(well.pages);
  Folder folder;
  std::string facts = folder.write("facts.jsonl", well.facts);
  Ran a = weft("inspect", {"lab-32", "--metrics", exporter.url(), "--events", facts, "--every", "0.1s", "--for", "1.5s", "--json"});
  EXPECT_GE(exporter.asked, 10u);
  EXPECT_EQ(a.json()["fail"], 0) << a.out;
  EXPECT_EQ(a.code, 0) << a.err;
  EXPECT_NE(a.err.find("scrapes of 1 address"), std::string::npos) << a.err;
}

TEST(DiagnoseLive, AFaultThatAppearsWhileScraping) {
  Exported well(12), ill(12, "scale_up_link_down", "cable/C0010");
  std::vector<std::string> pages = well.pages;
  for (std::size_t i = 5; i < ill.pages.size(); ++i) pages.push_back(ill.pages[i]);
  Exporter exporter(pages);
  Ran a = weft("diagnose", {"lab-32", "--metrics", exporter.url(), "--every", "0.2s", "--for", "3.6s", "--json"});
  EXPECT_EQ(a.code, 1) << a.err << a.out;
  ASSERT_FALSE(a.json()["incidents"].empty());
  EXPECT_EQ(a.json()["incidents"][0]["causes"][0]["entity"], "cable/C0010") << a.out;
}

TEST(DiagnoseLive, NobodyAnswers) {
  Ran a = weft("diagnose", {"lab-32", "--metrics", "http://127.0.0.1:9/metrics", "--every", "0.1s", "--for", "0.2s"});
  EXPECT_EQ(a.code, 3) << "a peer failed";
  EXPECT_NE(a.err.find("no address answered"), std::string::npos) << a.err;
}

}  // namespace
}  // namespace weft::cli
