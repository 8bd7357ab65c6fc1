using System;
using System.Net;

// Sends bytes with the standard library, which sends credentials after a 401, and waits to be
// asked for them unless told otherwise.
public static class Upload
{
    public static void Main(string[] args)
    {
        for (int i = 2; i < args.Length; i++)
        {
            string[] target = args[i].Split(',');
            var request = (HttpWebRequest)WebRequest.Create(target[0]);
            request.Method = "POST";
            request.ContentType = "application/octet-stream";
            request.Timeout = request.ReadWriteTimeout = 1200000;
            request.ServicePoint.Expect100Continue = target[2] == "expect";
            request.AllowWriteStreamBuffering = true;
            request.Credentials = new CredentialCache { { new Uri(target[0]), "Basic", new NetworkCredential(args[0], args[1]) } };
            var body = new byte[int.Parse(target[1])];
            request.ContentLength = body.Length;
            int status;
            try
            {
                using (var stream = request.GetRequestStream()) stream.Write(body, 0, body.Length);
                using (var answer = (HttpWebResponse)request.GetResponse()) status = (int)answer.StatusCode;
            }
            catch (WebException e)
            {
                if (e.Response == null) throw;
                status = (int)((HttpWebResponse)e.Response).StatusCode;
            }
            Console.WriteLine(target[1] + " " + status);
        }
    }
}
