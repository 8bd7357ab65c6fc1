import java.io.*;
import java.net.*;
import java.util.*;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Element;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * A client of the XML forms that knows nothing of the service but their description.
 *
 * <pre>java Client BASE USER PASSWORD</pre>
 *
 * It does what existing clients in this language do: the Accept header of HttpURLConnection, a
 * password only after a challenge, a second slash behind the instance, metadata with %2F, a bare
 * question mark, numbers as English writes them, and a cast of every child to Element. It prints a
 * line for each step, and ends with status 1 at the first answer that is not as described.
 */
public final class Client {
  static final String ODD = "Größe & <b>\"Maß\"</b> 'für' ]]> 𝄞🚀\nnext line\tbehind a tab";
  static final String LINES = " first\r\nsecond ";
  static final String DATA = "//rest-1.v1/Data/";

  final String base;
  final String instance;
  final Authenticator credentials;
  final DocumentBuilder parser = DocumentBuilderFactory.newInstance().newDocumentBuilder();

  Client(String base, String user, String password) throws Exception {
    this.base = base;
    this.instance = URI.create(base).getPath();
    this.credentials = new Authenticator() {
      private int asked; // who is asked again was refused

      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return asked++ == 0 ? new PasswordAuthentication(user, password.toCharArray()) : null;
      }
    };
  }

  record Answer(int status, String type, byte[] body) {}

  /** Sends a request; a body is posted. */
  Answer request(String path, byte[] body, String contentType) throws IOException {
    var connection = (HttpURLConnection) URI.create(base + path).toURL().openConnection();
    connection.setAuthenticator(credentials);
    connection.setInstanceFollowRedirects(false);
    connection.setRequestProperty("Accept-Language", "en-US");
    if (body != null) {
      connection.setDoOutput(true);
      connection.setRequestProperty("Content-Type", contentType);
      connection.getOutputStream().write(body);
    }
    int status = connection.getResponseCode();
    try (var in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      return new Answer(status, connection.getContentType(), in == null ? new byte[0] : in.readAllBytes());
    }
  }

  /** The root of an answer. */
  Element xml(String path, String root, int status, byte[] body) throws Exception {
    var answer = request(path, body, "text/xml");
    var about = path + ", " + new String(answer.body, 0, Math.min(500, answer.body.length), UTF_8);
    expect("status of " + about, answer.status, status);
    expect("type of " + about, answer.type, "text/xml; charset=utf-8");
    var found = parse(answer.body);
    expect("root of " + about, found.getTagName(), root);
    return found;
  }

  Element parse(byte[] text) throws Exception {
    return parser.parse(new ByteArrayInputStream(text)).getDocumentElement();
  }

  Element get(String path, String root) throws Exception {
    return xml(path, root, 200, null);
  }

  /** The message of an error. */
  String refused(String path, int status, byte[] body) throws Exception {
    var error = xml(path, "Error", status, body);
    var parts = children(error);
    expect("what an error has", parts.stream().map(Element::getTagName).toList(), List.of("Message", "Exception"));
    expect("place of an error", error.getAttribute("href").startsWith(instance), true);
    var message = children(parts.get(1)).get(0).getTextContent();
    expect("messages", message.isEmpty() || parts.get(0).getTextContent().isEmpty(), false);
    return message;
  }

  /** Creates or updates; type, id and moment. */
  String[] save(String path, String... changes) throws Exception {
    var asset = xml(path, "Asset", 200, body(changes));
    var oid = asset.getAttribute("id").split(":");
    expect("parts of an id", oid.length, 3);
    expect("href", asset.getAttribute("href"), instance + "/rest-1.v1/Data/" + String.join("/", oid));
    expect("what was sent", values(asset).keySet(), values(parse(body(changes))).keySet());
    expect("act in an answer", XPathFactory.newInstance().newXPath().evaluate("count(.//@act)", asset), "0");
    return oid;
  }

  static String scalar(String name, String text) {
    return "<Attribute act='set' name='" + name + "'>" + escape(text) + "</Attribute>";
  }

  static String tag(String act, String text) {
    return "<Attribute name='TaggedWith'><Value act='" + act + "'>" + escape(text) + "</Value></Attribute>";
  }

  static String relation(String name, String idref) {
    return "<Relation act='set' name='" + name + "'><Asset idref='" + idref + "'/></Relation>";
  }

  static String owner(String act, String idref) {
    return "<Relation name='Owners'><Asset act='" + act + "' idref='" + idref + "'/></Relation>";
  }

  static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;");
  }

  static byte[] body(String... changes) {
    return ("<Asset>" + String.join("", changes) + "</Asset>").getBytes(UTF_8);
  }

  /** The children, each cast to an element. */
  static List<Element> children(Element parent) {
    var found = new ArrayList<Element>();
    for (var child = parent.getFirstChild(); child != null; child = child.getNextSibling()) {
      expect("a child of " + parent.getTagName(), child instanceof Element ? "" : child.toString(), "");
      found.add((Element) child);
    }
    return found;
  }

  static List<String> attributes(Element parent, String name) {
    return children(parent).stream().map(e -> e.getAttribute(name)).toList();
  }

  /** The values of an asset by name: a text, or a list of texts or idrefs. */
  static Map<String, Object> values(Element asset) {
    var found = new HashMap<String, Object>();
    for (var e : children(asset)) {
      if (e.getTagName().equals("Relation")) {
        found.put(e.getAttribute("name"), attributes(e, "idref"));
      } else if (e.getFirstChild() instanceof Element) {
        found.put(e.getAttribute("name"), children(e).stream().map(Element::getTextContent).toList());
      } else {
        found.put(e.getAttribute("name"), e.getTextContent());
      }
    }
    return found;
  }

  static void expect(String what, Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new IllegalStateException(what + ": <" + got + ">, not <" + want + ">");
    }
  }

  static void expectValues(Element asset, Object... want) {
    var got = values(asset);
    for (var i = 0; i < want.length; i += 2) {
      expect(want[i] + " of " + asset.getAttribute("id"), got.get(want[i]), want[i + 1]);
    }
  }

  static void expectAttributes(Element e, String... want) {
    for (var i = 0; i < want.length; i += 2) {
      expect(want[i] + " of " + e.getTagName(), e.getAttribute(want[i]), want[i + 1]);
    }
  }

  static Element versioned(Element root) {
    var parts = Arrays.stream(root.getAttribute("version").split("\\.")).map(Integer::valueOf).toList();
    expect("numbers of a version", parts.size(), 4);
    return root;
  }

  static String enc(String text) {
    return URLEncoder.encode(text, UTF_8);
  }

  static void step(String line) {
    System.out.println(line);
  }

  void metadata() throws Exception {
    var types = children(versioned(get("/meta.v1/", "Meta")));
    var definitions = types.stream().flatMap(t -> children(t).stream()).filter(e -> e.getTagName().equals("AttributeDefinition")).toList();
    for (var a : definitions) {
      for (var name : List.of("isreadonly", "isrequired", "ismultivalue")) {
        expect(name + " of " + a.getAttribute("token"), List.of("True", "False").contains(a.getAttribute(name)), true);
      }
      var related = children(a).stream().anyMatch(e -> e.getTagName().equals("RelatedAsset"));
      expect(a.getAttribute("token"), related, a.getAttribute("attributetype").equals("Relation"));
    }
    step("metadata: " + types.size() + " types, " + definitions.size() + " attributes");

    var story = versioned(get("/meta.v1/Story", "AssetType"));
    expectAttributes(story, "href", instance + "/meta.v1/Story", "token", "Story", "abstract", "False");
    expect("its first elements", children(story).stream().limit(6).map(Element::getTagName).toList(),
        List.of("Base", "DefaultOrderBy", "DefaultDisplayBy", "ShortName", "Name", "Description"));
    expectAttributes(versioned(get("/meta.v1/" + enc("Story/Scope"), "AttributeDefinition")),
        "of", instance + "/meta.v1/Story", "token", "Story.Scope", "isrequired", "True", "ismultivalue", "False");
    expectAttributes(versioned(get("/meta.v1/" + enc("Story/Owners.Nickname"), "AttributeDefinition")),
        "attributetype", "Text", "isreadonly", "True", "ismultivalue", "True");
    expectAttributes(versioned(get("/meta.v1/" + enc("Story/Inactivate"), "Operation")), "of", instance + "/meta.v1/Story", "name", "Inactivate");
    step("metadata of Story, two attributes and an operation");
    step("unknown attribute: 404 " + refused("/meta.v1/" + enc("Story/Nothing"), 404, null));

    var config = versioned(get("/config.v1/", "Configuration"));
    var size = XPathFactory.newInstance().newXPath().evaluate("//Configuration/Setting[@key='MaximumAttachmentSize']/@value", config);
    step("configuration: attachments up to " + Long.parseLong(size) + " bytes");
    var text = request("/loc.v1/?Member", null, null);
    expect("a text", List.of(text.status, text.body.length > 0), List.of(200, true));
  }

  void assets() throws Exception {
    var template = get("/rest-1.v1/New/Story?ctx=" + enc("Scope:0"), "Asset");
    expectAttributes(template, "href", instance + "/rest-1.v1/New/Story", "id", "");
    expectValues(template, "Scope", List.of("Scope:0"));
    step("template of a story");

    var scope = "Scope:" + save(DATA + "Scope", scalar("Name", "Project of a program"), scalar("BeginDate", "2026-01-01"),
        relation("Parent", "Scope:0"))[1];
    var priority = attributes(get(DATA + "WorkitemPriority?sel=", "Assets"), "id").get(0);
    var first = save(DATA + "Story", scalar("Name", ODD), scalar("Description", LINES), scalar("Estimate", "1,000"),
        relation("Scope", scope), relation("Priority", priority), owner("add", "Member:20"), tag("add", "a <tag> & more"));
    step("created " + String.join(":", first));

    var story = DATA + "Story/" + first[1];
    var all = story + "?sel=" + enc("Story.Name,Story.Description,Story.Estimate,Story.Scope,Story.Priority,Story.Owners,Story.TaggedWith,"
        + "Story.ChangeComment,Story.Children[ToDo<'5'].@Count");
    expectValues(get(all, "Asset"), "Name", ODD, "Description", LINES, "Estimate", "1000", "Scope", List.of(scope),
        "Scope.Name", "Project of a program", "Priority", List.of(priority), "Owners", List.of("Member:20"),
        "TaggedWith", List.of("a <tag> & more"), "ChangeComment", "", "Children[ToDo<'5'].@Count", "0");
    var name = get(story + "/Name?", "Attribute");
    expectAttributes(name, "name", "Name", "of", instance + "/rest-1.v1/Data/Story/" + first[1]);
    expect("a name alone", name.getTextContent(), ODD);
    step("read what was written");

    var second = save(story + "?Comment=" + enc("'by a program'"), scalar("Name", "Plain"), scalar("Description", ""),
        "<Relation act='set' name='Estimate'/>", owner("remove", "Member:20"), tag("remove", "a <tag> & more"));
    expectValues(get(all + "&where=" + enc("Moment='" + second[2] + "'"), "Asset"),
        "Name", "Plain", "Description", "", "Estimate", "", "Owners", List.of(), "TaggedWith", "", "ChangeComment", "by a program");
    step("updated to moment " + second[2]);

    history(story, first, second);
    ranks(first[1], scope);
    attachment("Story:" + first[1]);
    operations(story);
  }

  void history(String story, String[] first, String[] second) throws Exception {
    var history = get("//rest-1.v1/Hist/Story/" + first[1] + "?sel=" + enc("Story.Name,Story.Scope"), "History");
    expect("versions", attributes(history, "id"), List.of(String.join(":", first), String.join(":", second)));
    expectValues(children(history).get(0), "Name", ODD);
    var idrefs = new ArrayList<Object>(List.of(values(children(history).get(0)).get("Scope")));
    for (var name : List.of("Priority", "Owners")) {
      idrefs.add(attributes(get(story + "/" + first[2] + "/" + name + "?", "Relation"), "idref"));
    }
    expect("parts of " + idrefs, idrefs.stream().map(i -> i.toString().split(":").length).toList(), List.of(3, 3, 3));
    step("history: " + children(history).size() + " versions");
  }

  void ranks(String story, String scope) throws Exception {
    var order = new ArrayList<>(List.of("Story:" + story));
    var rank = Integer.parseInt(get(DATA + "Story/" + story + "/Order?", "Attribute").getTextContent());
    for (var sign : List.of("+", "-")) {
      var other = save(DATA + "Story", scalar("Name", sign), relation("Scope", scope))[1];
      save(DATA + "Story/" + other, scalar("Order", rank + sign));
      order.add(sign.equals("+") ? 1 : 0, "Story:" + other);
    }
    var query = DATA + "Story?sel=&sort=" + enc("Story.Order") + "&where=" + enc("Story.Scope='" + scope + "'");
    expect("the order", attributes(get(query, "Assets"), "id"), order);
    var page = get(query + "&page=2,1", "Assets");
    expectAttributes(page, "total", "3", "pageSize", "2", "pageStart", "1");
    expect("its assets", attributes(page, "id"), order.subList(1, 3));
    step("ranked around " + rank + ", and read a page");
  }

  void attachment(String asset) throws Exception {
    var content = new byte[4096];
    new Random(1).nextBytes(content);
    var path = "/attachment.img/" + save(DATA + "Attachment", scalar("Name", "Bytes"), scalar("Filename", "bytes.bin"),
        scalar("ContentType", "application/x-bytes"), scalar("Content", ""), relation("Asset", asset))[1];
    expect("content is taken", request(path, content, "").status, 200);
    var read = request(path, null, null);
    expect("content", List.of(read.type, Arrays.equals(read.body, content)), List.of("application/x-bytes", true));
    step("attached " + content.length + " bytes");
  }

  void operations(String story) throws Exception {
    for (var operation : List.of("Inactivate", "Reactivate", "Delete")) {
      var asset = xml(story + "?op=" + operation, "Asset", 200, new byte[0]);
      expect("answer to " + operation, List.of(asset.hasChildNodes(), asset.getAttribute("id").startsWith("Story:")), List.of(false, true));
      if (!operation.equals("Delete")) {
        expectValues(get(story + "?sel=AssetState", "Asset"), "AssetState", operation.equals("Inactivate") ? "128" : "64");
      }
    }
    step("executed; deleted: 404 " + refused(story, 404, null));
  }

  void refusals(String user) throws Exception {
    step("no such asset: 404 " + refused(DATA + "Story/999999999", 404, null));
    step("no such attribute: 400 " + refused(DATA + "Story", 400, body(scalar("Nothing", "x"))));
    expect("a wrong password", new Client(base, user, "wrong").request(DATA + "Story", null, null).status, 401);
    step("wrong password: 401");
  }

  public static void main(String[] args) throws Exception {
    var client = new Client(args[0], args[1], args[2]);
    try {
      client.metadata();
      client.assets();
      client.refusals(args[1]);
    } catch (IllegalStateException e) {
      System.err.println("not as described: " + e.getMessage());
      System.exit(1);
    }
    step("done");
  }
}
