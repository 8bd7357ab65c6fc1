import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.PasswordAuthentication;
import java.net.URI;

/** Sends bytes with the standard library, which sends credentials after a 401. */
public class Upload {
    public static void main(String[] args) throws Exception {
        Authenticator.setDefault(new Authenticator() {
            @Override protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication(args[0], args[1].toCharArray());
            }
        });
        for (int i = 2; i < args.length; i++) {
            String[] target = args[i].split(",");
            HttpURLConnection c = (HttpURLConnection) URI.create(target[0]).toURL().openConnection();
            c.setRequestMethod("POST");
            c.setDoOutput(true);
            c.setRequestProperty("Content-Type", "application/octet-stream");
            c.getOutputStream().write(new byte[Integer.parseInt(target[1])]);
            System.out.println(target[1] + " " + c.getResponseCode());
        }
    }
}
