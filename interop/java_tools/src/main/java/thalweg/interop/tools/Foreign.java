package thalweg.interop.tools;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;

import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.LeaveGroupRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.requests.SyncGroupResponse;

/** The only member of a classic group whose protocol type is not `consumer`. Its session outlasts the story. */
final class Foreign implements AutoCloseable {
    private static final int SESSION_MS = 300_000;

    private final Socket socket;
    private final String group;
    private final String member;
    private int correlation;

    Foreign(String bootstrap, String group, String protocolType) throws IOException {
        int colon = bootstrap.lastIndexOf(':');
        this.socket = new Socket(bootstrap.substring(0, colon), Integer.parseInt(bootstrap.substring(colon + 1)));
        this.group = group;
        JoinGroupRequestData join = new JoinGroupRequestData().setGroupId(group).setProtocolType(protocolType)
            .setSessionTimeoutMs(SESSION_MS).setRebalanceTimeoutMs(SESSION_MS);
        join.protocols().add(new JoinGroupRequestData.JoinGroupRequestProtocol().setName("its own").setMetadata(new byte[] {1}));
        JoinGroupResponse joined = ask(new JoinGroupRequest.Builder(join).build((short) 3));
        this.member = joined.data().memberId();
        SyncGroupRequestData sync = new SyncGroupRequestData().setGroupId(group).setMemberId(member)
            .setGenerationId(joined.data().generationId());
        sync.assignments().add(new SyncGroupRequestData.SyncGroupRequestAssignment().setMemberId(member).setAssignment(new byte[] {2}));
        SyncGroupResponse synced = ask(new SyncGroupRequest.Builder(sync).build((short) 1));
        if (joined.data().errorCode() != 0 || synced.data().errorCode() != 0) {
            throw new AssertionError("joining: " + joined.data() + ", " + synced.data());
        }
    }

    @SuppressWarnings("unchecked")
    private <T extends AbstractResponse> T ask(AbstractRequest request) throws IOException {
        RequestHeader header = new RequestHeader(request.apiKey(), request.version(), "foreign", correlation++);
        ByteBuffer frame = request.serializeWithHeader(header);
        byte[] bytes = new byte[4 + frame.remaining()];
        ByteBuffer.wrap(bytes).putInt(frame.remaining()).put(frame);
        socket.getOutputStream().write(bytes);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] answer = new byte[in.readInt()];
        in.readFully(answer);
        return (T) AbstractResponse.parseResponse(ByteBuffer.wrap(answer), header);
    }

    @Override
    public void close() throws IOException {
        ask(new LeaveGroupRequest.Builder(group, List.of(new MemberIdentity().setMemberId(member))).build((short) 3));
        socket.close();
    }
}
