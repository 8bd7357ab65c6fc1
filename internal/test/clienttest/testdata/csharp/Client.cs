using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Runtime.InteropServices;
using System.Security;
using System.Text;
using System.Xml;

/// <summary>
/// A client of the XML forms that knows nothing of the service but their description.
/// <code>mono Client.exe BASE USER PASSWORD</code>
/// It does what existing clients in this language do: Accept only on POST, bodies as
/// text/plain, a password from a cache after a challenge, a second slash behind Data, moments
/// in idrefs, numbers as German writes them, metadata by bool.Parse, Enum.Parse and
/// Version.Parse, and a cast of every child to XmlElement. It prints a line for each step, and
/// ends with status 1 at the first answer that is not as described.
/// </summary>
sealed class Client
{
    const string Odd = "Größe & <b>\"Maß\"</b> 'für' ]]> 𝄞🚀\nnext line\tbehind a tab";
    const string Data = "/rest-1.v1/Data//";

    enum Kind
    {
        AssetType, Blob, Boolean, Date, Duration, Guid, LocalizerTag, LongInt, LongText, Numeric, Opaque, Password, Rank, Relation, State, Text
    }

    readonly string root, instance;
    readonly ICredentials credentials;

    Client(string root, string user, string password)
    {
        this.root = root;
        instance = new Uri(root).AbsolutePath;
        credentials = new CredentialCache { { new Uri(root), "Basic", new NetworkCredential(user, password) } };
    }

    /// <summary>Sends a request; a body is posted.</summary>
    (int Status, string Type, byte[] Body) Request(
        string path, byte[] body = null, string type = "text/plain; charset=utf-8", string accept = "application/xml")
    {
        var request = (HttpWebRequest)WebRequest.Create(root + path);
        request.Credentials = credentials;
        request.Proxy = null;
        request.AllowAutoRedirect = false;
        request.AutomaticDecompression = DecompressionMethods.GZip;
        request.UserAgent = "Program/1.0 (Described)";
        request.Headers["Accept-Language"] = "de-DE";
        if (body != null)
        {
            request.Method = "POST";
            request.Accept = accept;
            request.ContentType = type;
            using (var stream = request.GetRequestStream()) stream.Write(body, 0, body.Length);
        }
        HttpWebResponse response;
        try { response = (HttpWebResponse)request.GetResponse(); }
        catch (WebException e) when (e.Response != null) { response = (HttpWebResponse)e.Response; }
        using (response)
        using (var read = new MemoryStream())
        {
            response.GetResponseStream().CopyTo(read);
            return ((int)response.StatusCode, response.ContentType, read.ToArray());
        }
    }

    /// <summary>The root of an answer.</summary>
    XmlElement Xml(string path, string name, byte[] body = null, int status = 200)
    {
        var answer = Request(path, body);
        var about = " of " + path + ", " + Encoding.UTF8.GetString(answer.Body.Take(500).ToArray());
        Expect("status" + about, answer.Status, status);
        Expect("type" + about, answer.Type, "text/xml; charset=utf-8");
        var found = Parse(answer.Body);
        Expect("root" + about, found.Name, name);
        return found;
    }

    static XmlElement Parse(byte[] text)
    {
        var document = new XmlDocument { PreserveWhitespace = true };
        document.Load(new MemoryStream(text));
        return document.DocumentElement;
    }

    /// <summary>The last message of an error, wherever it stands.</summary>
    string Refused(string path, int status, byte[] body = null)
    {
        var error = Xml(path, "Error", body, status);
        Expect("what an error has", Join(Children(error).Select(e => e.Name)), "Message Exception");
        Expect("place of an error", error.GetAttribute("href").StartsWith(instance), true);
        var messages = error.GetElementsByTagName("Message").Cast<XmlElement>().Select(m => m.InnerText).ToList();
        Expect("messages", messages.Count + " " + messages.Contains(""), "2 False");
        return messages.Last();
    }

    /// <summary>Creates or updates; type, id and moment.</summary>
    string[] Save(string path, params string[] changes)
    {
        var asset = Xml(path, "Asset", Body(changes));
        var oid = asset.GetAttribute("id").Split(':');
        Expect("parts of an id", oid.Length, 3);
        Expect("href", asset.GetAttribute("href"), instance + "/rest-1.v1/Data/" + string.Join("/", oid));
        Expect("what was sent", Join(Values(asset).Keys.OrderBy(k => k)), Join(Values(Parse(Body(changes))).Keys.OrderBy(k => k)));
        Expect("act in an answer", asset.SelectNodes(".//@act").Count, 0);
        return oid;
    }

    static byte[] Body(params string[] changes) =>
        Encoding.UTF8.GetBytes("<Asset id=\"Story:1:2\">" + string.Concat(changes) + "</Asset>");

    static string Scalar(string name, string text) =>
        "<Attribute name=\"" + name + "\" act=\"set\">" + SecurityElement.Escape(text) + "</Attribute>";

    static string Tag(string act, string text) =>
        "<Attribute name=\"TaggedWith\"><Value act=\"" + act + "\">" + SecurityElement.Escape(text) + "</Value></Attribute>";

    static string Relation(string name, string idref) =>
        "<Relation name=\"" + name + "\" act=\"set\"><Asset idref=\"" + idref + "\" /></Relation>";

    static string Owner(string act, string idref) =>
        "<Relation name=\"Owners\"><Asset idref=\"" + idref + "\" act=\"" + act + "\" /></Relation>";

    /// <summary>The children, each of which is an element.</summary>
    static List<XmlElement> Children(XmlElement parent) =>
        parent.ChildNodes.Cast<XmlNode>().Select(n => n as XmlElement ?? throw new InvalidDataException(n.NodeType + " in " + parent.Name)).ToList();

    static string Join(IEnumerable<string> all) => string.Join(" ", all);

    static string Attributes(IEnumerable<XmlElement> all, string name) => Join(all.Select(e => e.GetAttribute(name)));

    /// <summary>The values of an asset by name; texts or idrefs of several stand in brackets.</summary>
    static Dictionary<string, string> Values(XmlElement asset)
    {
        return Children(asset).ToDictionary(e => e.GetAttribute("name"), e =>
            e.Name == "Relation" ? "[" + Attributes(Children(e), "idref") + "]" :
            e["Value"] != null ? "[" + Join(Children(e).Select(v => v.InnerText)) + "]" : e.InnerText);
    }

    static void Expect(string what, object got, object want)
    {
        if (!Equals(got, want)) throw new InvalidDataException(what + ": <" + got + ">, not <" + want + ">");
    }

    static void ExpectValues(XmlElement asset, params string[] want)
    {
        var got = Values(asset);
        for (var i = 0; i < want.Length; i += 2)
            Expect(want[i] + " of " + asset.GetAttribute("id"), got.ContainsKey(want[i]) ? got[want[i]] : "missing", want[i + 1]);
    }

    static void ExpectAttributes(XmlElement e, params string[] want)
    {
        for (var i = 0; i < want.Length; i += 2) Expect(want[i] + " of " + e.Name, e.GetAttribute(want[i]), want[i + 1]);
    }

    static XmlElement Versioned(XmlElement e)
    {
        Expect("a version of four numbers", Version.Parse(e.GetAttribute("version")).Revision >= 0, true);
        return e;
    }

    static bool Is(XmlElement e, string name) => bool.Parse(e.GetAttribute(name));

    static void Step(string line) => Console.WriteLine(line);

    void Metadata()
    {
        var types = Children(Versioned(Xml("/meta.v1", "Meta")));
        var attributes = types.SelectMany(Children).Where(e => e.Name == "AttributeDefinition").ToList();
        foreach (var a in attributes)
        {
            var kind = (Kind)Enum.Parse(typeof(Kind), a.GetAttribute("attributetype"));
            Expect(a.GetAttribute("token") + " leads to a type", a["RelatedAsset"] != null, kind == Kind.Relation);
            foreach (var name in new[] { "isreadonly", "isrequired", "ismultivalue" }) Is(a, name);
        }
        Step("metadata: " + types.Count + " types, " + attributes.Count + " attributes");

        var story = Versioned(Xml("/meta.v1//Story", "AssetType"));
        ExpectAttributes(story, "href", instance + "/meta.v1/Story", "abstract", "False");
        Expect("its base", story["Base"].GetAttribute("nameref"), "PrimaryWorkitem");
        var owners = Versioned(Xml("/meta.v1/Story/Owners", "AttributeDefinition"));
        ExpectAttributes(owners, "of", instance + "/meta.v1/Story", "token", "Story.Owners", "ismultivalue", "True");
        ExpectAttributes(owners["RelatedAsset"], "nameref", "Member", "href", instance + "/meta.v1/Member");
        ExpectAttributes(Versioned(Xml("/meta.v1/Story%2FOwners.Nickname", "AttributeDefinition")), "attributetype", "Text", "ismultivalue", "True");
        var delete = Versioned(Xml("/meta.v1/Story/Delete", "Operation"));
        ExpectAttributes(delete, "of", instance + "/meta.v1/Story", "name", "Delete");
        ExpectAttributes(delete["Validator"], "tokenref", "Story.IsDeletable");
        Step("metadata of Story, two attributes and an operation");
        Step("unknown attribute: 404 " + Refused("/meta.v1/Story/Nothing", 404));

        var settings = Children(Versioned(Xml("/config.v1/", "Configuration")))
            .ToDictionary(e => e.GetAttribute("key"), e => e.GetAttribute("value"));
        Expect("efforts are tracked", bool.Parse(settings["EffortTracking"]), true);
        Step("configuration: attachments up to " + long.Parse(settings["MaximumAttachmentSize"]) + " bytes");
    }

    void Assets()
    {
        var template = Xml("/rest-1.v1/New/Story?ctx=Scope:0", "Asset");
        ExpectAttributes(template, "href", instance + "/rest-1.v1/New/Story", "id", "");
        ExpectValues(template, "Scope", "[Scope:0]");
        Step("template of a story");

        var scope = "Scope:" + Save(Data + "Scope", Scalar("Name", "Project of a program"), Scalar("BeginDate", "2026-01-01"),
            Relation("Parent", "Scope:0"))[1];
        var priority = Children(Xml(Data + "WorkitemPriority?sel=", "Assets"))[0].GetAttribute("id");
        var first = Save(Data + "Story", Scalar("Name", Odd), Scalar("Description", "<p>x</p>"), Scalar("Estimate", "10,5"),
            Relation("Scope", scope), Relation("Priority", priority), Owner("add", "Member:20:7"), Tag("add", "a <tag> & more"));
        Step("created " + string.Join(":", first));

        var story = Data + "Story/" + first[1];
        ExpectValues(Xml(story, "Asset"), "Name", Odd, "Description", "<p>x</p>", "Estimate", "10.5", "Scope", "[" + scope + "]",
            "Scope.Name", "Project of a program", "Priority", "[" + priority + "]", "Owners", "[Member:20]",
            "TaggedWith", "[a <tag> & more]", "AssetState", "64", "Parent", "[]");
        var project = Children(Xml("/rest-1.oauth.v1/Data//Story/" + first[1] + "/Scope", "Relation"))[0];
        ExpectAttributes(project, "idref", scope, "href", instance + "/rest-1.oauth.v1/Data/" + scope.Replace(':', '/'));
        Step("read what was written");

        var second = Save(story + "?Comment='by%20a%20program'", Scalar("Name", "Plain"), Scalar("Description", ""),
            "<Relation name=\"Estimate\" act=\"set\" />", Owner("remove", "Member:20"), Tag("add", "b"));
        var query = "?sel=Story.Name,Story.Description,Story.Estimate,Story.Owners,Story.TaggedWith,Story.ChangeComment&where=Moment='" + second[2] + "'";
        ExpectValues(Xml(story + query, "Asset"), "Name", "Plain", "Description", "", "Estimate", "", "Owners", "[]",
            "TaggedWith", "[a <tag> & more b]", "ChangeComment", "by a program");
        Step("updated to moment " + second[2]);

        History(story, first, second);
        Ranks(first[1], scope);
        Attachment("Story:" + first[1]);
        Operations(story);
    }

    void History(string story, string[] first, string[] second)
    {
        var versions = Children(Xml("/rest-1.v1/Hist//Story/" + first[1] + "?sel=Story.Name,Story.Scope", "History"));
        Expect("versions", Attributes(versions, "id"), string.Join(":", first) + " " + string.Join(":", second));
        ExpectValues(versions[0], "Name", Odd);
        var then = Children(Xml(story + "/" + first[2] + "/Priority", "Relation"))[0].GetAttribute("idref");
        foreach (var idref in new[] { then, Values(versions[0])["Scope"], Values(Xml(story + "/" + first[2], "Asset"))["Owners"] })
            Expect("parts of " + idref, idref.Split(':').Length, 3);
        Step("history: " + versions.Count + " versions");
    }

    void Ranks(string story, string scope)
    {
        var rank = int.Parse(Xml(Data + "Story/" + story + "/Order", "Attribute").InnerText);
        var order = new List<string> { "Story:" + story };
        foreach (var sign in new[] { "+", "-" })
        {
            var other = Save(Data + "Story", Scalar("Name", sign), Relation("Scope", scope))[1];
            Save(Data + "Story/" + other, Scalar("Order", rank + sign));
            order.Insert(sign == "+" ? 1 : 0, "Story:" + other);
        }
        var query = Data + "Story?sel=&sort=Story.Order&where=Story.Scope='" + scope + "'";
        Expect("the order", Attributes(Children(Xml(query, "Assets")), "id"), Join(order));
        var page = Xml(query + "&page=2,1", "Assets");
        ExpectAttributes(page, "total", "3", "pageSize", "2", "pageStart", "1");
        Expect("its assets", Attributes(Children(page), "id"), Join(order.Skip(1)));
        Step("ranked around " + rank + ", and read a page");
    }

    void Attachment(string asset)
    {
        var number = Save(Data + "Attachment", Scalar("Name", "Bytes"), Scalar("Filename", "bytes.bin"),
            Scalar("ContentType", "application/x-bytes"), Scalar("Content", ""), Relation("Asset", asset))[1];
        var content = new byte[4096];
        new Random(1).NextBytes(content);
        Expect("content is taken", Request("/attachment.img/" + number, content, null, "application/x-bytes").Status, 200);
        var read = Request("/attachment.img/" + number);
        Expect("content", read.Type + " " + read.Body.SequenceEqual(content), "application/x-bytes True");
        Step("attached " + content.Length + " bytes");
    }

    void Operations(string story)
    {
        foreach (var operation in new[] { "Inactivate", "Reactivate", "Delete" })
        {
            var asset = Xml(story + "?op=" + operation, "Asset", new byte[0]);
            Expect("answer to " + operation, asset.GetAttribute("id").Split(':')[0] + asset.HasChildNodes, "StoryFalse");
            if (operation != "Delete")
                Expect("closed after " + operation, bool.Parse(Xml(story + "/IsClosed", "Attribute").InnerText), operation == "Inactivate");
        }
        Step("executed; deleted: 404 " + Refused(story, 404));
    }

    void Refusals(string user)
    {
        Step("no such asset: 404 " + Refused(Data + "Story/999999999", 404));
        Step("no such attribute: 400 " + Refused(Data + "Story", 400, Body(Scalar("Nothing", "x"))));
        Expect("a wrong password", new Client(root, user, "wrong").Request(Data + "Story").Status, 401);
        Step("wrong password: 401");
    }

    static void Main(string[] args)
    {
        try
        {
            var client = new Client(args[0], args[1], args[2]);
            client.Metadata();
            client.Assets();
            client.Refusals(args[1]);
        }
        catch (InvalidDataException e)
        {
            Console.Error.WriteLine("not as described: " + e.Message);
            Exit(1);
        }
        Step("done");
        Exit(0);
    }

    // Environment.Exit, and the end of Main, first stop the threads of connections; there mono
    // sometimes waits for a minute, or crashes.
    [DllImport("libc", EntryPoint = "_exit")]
    static extern void Exit(int status);
}
